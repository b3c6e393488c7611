package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// auditBegins is how each line of the audit log begins: what a crash leaves of one begins so, too.
const auditBegins = `{"v":1,"kind":"audit","id":"audit-`

// begins tells whether bytes are a line of ours, or the beginning of one.
func begins(line []byte) bool {
	n := min(len(line), len(auditBegins))
	return n > 0 && string(line[:n]) == auditBegins[:n]
}

// atEnd refuses to add to a log that ends with what no gate has written: whoever did that may have done more. A torn line of ours is
// a crash.
func atEnd(e *durable.End) error {
	if e.Ours || e.Size == 0 {
		return nil
	}
	last, err := e.Last()
	if err != nil {
		return err
	}
	if last != nil && !begins(last) {
		return errors.New("its last line was not written by the gate; see claw-gate audit")
	}
	if !e.Torn {
		return nil
	}
	from := max(0, e.Size-maxTail)
	tail := make([]byte, e.Size-from)
	if _, err := e.ReadAt(tail, from); err != nil {
		return err
	}
	if i := bytes.LastIndexByte(tail, '\n'); (i >= 0 || from == 0) && begins(tail[i+1:]) {
		return nil
	}
	return errors.New("its last bytes were not written by the gate; see claw-gate audit")
}

// maxTail is more than a line of the log has.
const maxTail = 64 << 10

// auditResult says what is in the audit log beside the gate's lines.
type auditResult struct {
	Path     string `json:"path"`
	Lines    int    `json:"lines"`              // of the gate
	Torn     int    `json:"torn"`               // lines that a crash has cut
	Foreign  int    `json:"foreign"`            // lines that the gate has not written
	First    int    `json:"first_bad,omitzero"` // the number of the first line that is torn or foreign
	AtEnd    int64  `json:"bytes_at_end"`       // foreign bytes behind the last line of the gate: no call is allowed while they are there
	MovedTo  string `json:"moved_to,omitzero"`  // where --mend has put them
	endsGood int64
}

func (a auditResult) WriteText(w io.Writer) error {
	text := fmt.Sprintf("%s: %s", a.Path, spelling.Count(a.Lines, "decision"))
	if a.Torn > 0 {
		text += fmt.Sprintf(", %d truncated by a crash", a.Torn)
	}
	if a.Foreign > 0 {
		text += fmt.Sprintf(", %s that the gate has not written, the first bad line is number %d", spelling.Count(a.Foreign, "line"), a.First)
	}
	if a.MovedTo != "" {
		text += fmt.Sprintf("; moved to %s: %s at the end", a.MovedTo, spelling.Count(a.AtEnd, "byte"))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// audit looks at every line of the audit log.
func audit() command.Command {
	mend := false
	return command.Command{Name: "audit", Summary: "check that the gate wrote every line of the audit log",
		Long: `Reads audit.jsonl and counts its lines: written by the gate, truncated by a crash, and not written by the gate. The exit
code is 1 if there are any of the last kind. While they are at the end of the log, every call is denied; --mend moves
them into a file beside the log.`,
		Example: "claw-gate audit\nclaw-gate audit --mend",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&mend, "mend", false, "move foreign bytes at the end into a file beside the log")
		},
		Access: func(_ *command.Call, cfg *config.Config) confine.Access {
			if cfg == nil {
				return confine.Access{}
			}
			if !mend {
				return confine.Access{Read: []string{cfg.AuditPath()}}
			}
			return confine.Access{Own: []string{cfg.AuditPath(), asideOf(cfg)}, List: []string{cfg.Home}}
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			res := &auditResult{Path: cfg.AuditPath()}
			if _, err := os.Lstat(res.Path); errors.Is(err, fs.ErrNotExist) {
				return res, nil // no call was ever decided
			}
			if mend {
				err = res.mend(asideOf(cfg))
			} else {
				err = res.readFile()
			}
			if err != nil {
				return nil, envelope.Errorf(envelope.ExitError, "audit.unavailable", "check the audit log: %w", err)
			}
			if res.Foreign == 0 && res.AtEnd == 0 || mend && res.MovedTo != "" {
				return res, nil
			}
			e := envelope.Errorf(envelope.ExitError, "audit.foreign", "%s contains lines that the gate did not write, the first is line %d", res.Path, res.First)
			if res.AtEnd > 0 {
				return res, e.WithHint("inspect it; claw-gate audit --mend moves such bytes at the end into a file beside it")
			}
			return res, e.WithHint("inspect it: these lines decide nothing, but whoever wrote them may have changed others")
		}}
}

func asideOf(cfg *config.Config) string { return cfg.AuditPath() + ".foreign" }

func (a *auditResult) readFile() error {
	f, err := os.Open(a.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.read(f)
}

// read counts the lines. What has no newline at the end may still be being written.
func (a *auditResult) read(r io.Reader) error {
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

func (a *auditResult) count(line []byte, whole bool, at int64, number int) {
	var d struct {
		Kind record.Kind `json:"kind"`
		ID   string      `json:"id"`
	}
	switch {
	case whole && record.DecodeOpen(line, &d) == nil && d.Kind == "audit" && strings.HasPrefix(d.ID, "audit-"):
		a.Lines++
		a.endsGood = at
		return
	case begins(bytes.TrimSuffix(line, []byte{'\n'})):
		a.Torn++
		a.endsGood = at
	default:
		a.Foreign++
	}
	if a.First == 0 {
		a.First = number
	}
}

// mend moves what stands behind the gate's last line into another file, and then out of the log.
func (a *auditResult) mend(aside string) error {
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
