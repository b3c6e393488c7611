package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Report says what is in an audit log beside the gate's lines.
type Report struct {
	Path    string `json:"path"`
	Lines   int    `json:"lines"`              // of the gate
	Torn    int    `json:"torn"`               // lines that a crash has cut
	Foreign int    `json:"foreign"`            // lines that the gate has not written
	First   int    `json:"first_bad,omitzero"` // the number of the first line that is torn or foreign
	// foreign bytes behind the last line of the gate: no call is allowed while they are there
	AtEnd    int64  `json:"bytes_at_end"`
	MovedTo  string `json:"moved_to,omitzero"` // where --mend has put them
	endsGood int64
	stranger bool // the line before is foreign
}

// WriteText says it in a line.
func (a Report) WriteText(w io.Writer) error {
	text := fmt.Sprintf("%s: %s", a.Path, spelling.Count(a.Lines, "decision"))
	if a.Torn > 0 {
		text += fmt.Sprintf(", %d truncated by a crash", a.Torn)
	}
	if a.Foreign > 0 {
		text += fmt.Sprintf(", %s that the gate did not write, the first is line %d",
			spelling.Count(a.Foreign, "line"), a.First)
	}
	if a.MovedTo != "" {
		text += fmt.Sprintf("; moved to %s: %s at the end", a.MovedTo, spelling.Count(a.AtEnd, "byte"))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// Check looks at every line of a log.
func Check(path string) (*Report, error) {
	a := &Report{Path: path}
	if absent(path) {
		return a, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return a, a.read(f)
}

// Mend is Check, and moves what stands behind the gate's last line into another file, and then out of the log.
func Mend(path, aside string) (*Report, error) {
	a := &Report{Path: path}
	if absent(path) {
		return a, nil // a log is not made by looking for it
	}
	return a, a.mend(aside)
}

// absent tells that no call was ever decided.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// read counts the lines. What has no newline at the end may still be being written.
func (a *Report) read(r io.Reader) error {
	in := bufio.NewReaderSize(r, maxTail)
	at, number := int64(0), 0
	for {
		line, n, whole, err := readLine(in)
		if n > 0 {
			at += n
			number++
			a.count(line, whole, at, number)
		}
		if err == io.EOF {
			a.AtEnd = at - a.endsGood
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line, of which it keeps no more than fits, and says how long it is.
func readLine(in *bufio.Reader) (line []byte, n int64, whole bool, err error) {
	line, err = in.ReadSlice('\n')
	line, n = bytes.Clone(line), int64(len(line))
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = in.ReadSlice('\n')
		n += int64(len(more))
	}
	return line, n, err == nil, err
}

func (a *Report) count(line []byte, whole bool, at int64, number int) {
	var d struct {
		Kind record.Kind `json:"kind"`
		ID   string      `json:"id"`
	}
	switch {
	case whole && record.DecodeOpen(line, &d) == nil && d.Kind == Kind && strings.HasPrefix(d.ID, "audit-"):
		a.Lines++
		a.endsGood, a.stranger = at, false
		return
	case begins(bytes.TrimSuffix(line, []byte{'\n'})):
		if a.Torn++; whole || !a.stranger { // a gate adds nothing behind a foreign line
			a.endsGood = at
		}
		a.stranger = a.stranger && !whole
	default:
		a.Foreign++
		a.stranger = true
	}
	if a.First == 0 {
		a.First = number
	}
}

func (a *Report) mend(aside string) error {
	log, err := durable.OpenLog(a.Path, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.Locked(func(e *durable.End) error {
		if err := a.read(io.NewSectionReader(e, 0, e.Size)); err != nil || a.AtEnd == 0 {
			return err
		}
		to, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(to, "# %s, from byte %d\n", time.Now().UTC().Format(time.RFC3339), a.endsGood)
		_, copied := io.Copy(to, io.NewSectionReader(e, a.endsGood, a.AtEnd))
		if err := errors.Join(err, copied, to.Sync(), to.Close()); err != nil {
			return err
		}
		a.MovedTo = aside
		return e.Cut(a.endsGood)
	})
}
