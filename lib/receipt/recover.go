package receipt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Interrupted is the error of a call of which nobody can say what became of it.
const Interrupted = "interrupted, outcome unknown"

// Recovery is what Recover did. Pending is how many calls may still be under way, and PendingUntil when the last of
// them is over at the latest.
type Recovery struct {
	Interrupted  []Interruption `json:"interrupted,omitzero"` // with DryRun: calls whose receipts would be written
	Written      []Receipt      `json:"written"`
	Pending      int            `json:"pending"`
	PendingUntil string         `json:"pending_until,omitzero"`
}

// RecoverOptions say when a call is over. Quiet tells that no stage runs that could still run a call or write its
// receipt: then it is over when its permit has expired. Else it is when Patience has passed since: as long as a tool
// may take, and more.
type RecoverOptions struct {
	Audit    string // the gate's log
	Quiet    bool
	DryRun   bool // write nothing
	Patience time.Duration
	Now      time.Time
}

// decision is what Recover needs of a line of the audit log.
type decision struct {
	Kind           record.Kind `json:"kind"`
	ID             string      `json:"id"`
	CallID         string      `json:"call_id"`
	ConversationID string      `json:"conversation_id"`
	Tool           string      `json:"tool"`
	ArgsHash       string      `json:"args_hash"`
	ArgsSHA256     string      `json:"args_sha256"`
	Decision       string      `json:"decision"`
	Risk           string      `json:"risk"`
	ExpiresAt      string      `json:"expires_at"`
}

// Recover writes a failed receipt, "interrupted, outcome unknown", for every call that the gate has allowed, that is
// over, and that has none: a process died before it was written. What was settled before is remembered beside the log
// and not read again; but none is written without a look at the whole log. A line of which no receipt can be made is an
// error, after the others.
func (l *Log) Recover(o RecoverOptions) (Recovery, error) {
	r := Recovery{Written: []Receipt{}}
	size, err := l.total()
	if err != nil {
		return r, err
	}
	left, from, err := l.unsettled(o.Audit, size)
	if err != nil || left == nil {
		return r, err
	}
	over, failed := r.sort(left, o)
	if len(over) > 0 {
		if from.Receipts > 0 { // the note says that these have none: it may be wrong
			if err := l.strike(over, 0); err != nil {
				return r, err
			}
		}
		if err := l.sound(len(over)); err != nil {
			return r, err
		}
	}
	if o.DryRun && len(over) > 0 {
		for _, id := range slices.Sorted(maps.Keys(over)) {
			r.Interrupted = append(r.Interrupted, Interruption{id, over[id].CallID})
		}
		return r, errors.Join(failed...)
	}
	for _, id := range slices.Sorted(maps.Keys(over)) {
		x, err := l.interrupted(id, over, size)
		if err == nil {
			r.Written = append(r.Written, x)
		} else if !errors.Is(err, ErrExists) {
			failed = append(failed, fmt.Errorf("write the receipt of an interrupted call: %w", err))
		}
	}
	if r.Pending > 0 || failed != nil {
		return r, errors.Join(failed...)
	}
	return r, l.remember(settled{Audit: from.Audit, Mark: from.Mark, Receipts: size})
}

// sort counts the calls that may still be under way, and returns those that are over, and why of some no receipt can be
// made: that is known without a look at the log, which would be had again at each start.
func (r *Recovery) sort(left map[string]decision, o RecoverOptions) (over map[string]decision, failed []error) {
	over = map[string]decision{}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		d := left[id]
		if end := o.end(d); o.Now.Before(end) {
			r.Pending++
			r.PendingUntil = max(r.PendingUntil, end.UTC().Format(record.TimeFormat))
		} else if _, err := receiptOf(id, d); err != nil {
			failed = append(failed, fmt.Errorf("write the receipt of an interrupted call: line %s of the audit log: %w",
				d.ID, err))
		} else {
			over[id] = d
		}
	}
	return over, failed
}

// unsettled are the calls that were allowed and have no receipt, nil if nothing has changed since all was settled; and
// the places up to which both logs need not be read again, once these are settled: that of the receipts is where
// reading began.
func (l *Log) unsettled(audit string, size int64) (map[string]decision, settled, error) {
	noted := l.settled()
	f, err := openPart(audit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noted, nil
	}
	if err != nil {
		return nil, noted, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	from := noted
	if mark, err := markOf(f, from.Audit); err != nil || mark != from.Mark || from.Receipts > size {
		from = settled{} // it is not about these logs
	}
	left, end, err := decisions(f, from.Audit)
	if err != nil || len(left) == 0 && end == noted.Audit && from == noted {
		return nil, noted, err
	}
	if err := l.strike(left, from.Receipts); err != nil {
		return nil, noted, err
	}
	from.Audit = end
	from.Mark, err = markOf(f, end)
	return left, from, err
}

// sound refuses to write receipts into a log of which some are missing or changed: they may be those that seem to lack.
func (l *Log) sound(lacking int) error {
	if lacking == 0 {
		return nil
	}
	src, err := Open(l.path)
	if err != nil {
		return err
	}
	defer src.Close()
	rep, err := Verify(src, Trust{Keys: l.keys})
	if err == nil && !rep.Valid {
		err = fmt.Errorf("%w, so it is unknown which calls have no receipt: receipt %d: %s", ErrTampered, rep.FirstBad,
			rep.Reason)
	}
	return err
}

// end is when nothing can become of a call any more; long ago if its permit names no time.
func (o RecoverOptions) end(d decision) time.Time {
	wait := o.Patience
	if o.Quiet {
		wait = 0
	}
	expires, err := time.Parse(time.RFC3339, d.ExpiresAt)
	if err != nil {
		return time.Time{}
	}
	return expires.Add(wait)
}

// interrupted writes the receipt of one of the calls that are left, unless it has come meanwhile, behind a place of the
// log.
func (l *Log) interrupted(id string, left map[string]decision, from int64) (Receipt, error) {
	d, ok := left[id]
	if !ok {
		return Receipt{}, ErrExists
	}
	r, err := receiptOf(id, d)
	if err != nil {
		return r, err
	}
	err = l.log.AppendNext(true, func(e *durable.End) ([]byte, error) {
		ours := e.Ours
		if err := l.settle(e); err != nil {
			return nil, err
		}
		if !ours { // others may have written the receipt of any call
			if err := l.strikeLocked(left, from); err != nil {
				return nil, err
			}
		}
		if _, ok := left[id]; !ok {
			return nil, ErrExists
		}
		return l.next(e, &r)
	})
	return r, l.finish(err)
}

// strike removes the decisions whose calls have a receipt.
func (l *Log) strike(left map[string]decision, from int64) error {
	src, err := Open(l.path)
	if err != nil {
		return err
	}
	return l.strikeIn(src, left, from)
}

func (l *Log) strikeLocked(left map[string]decision, from int64) error {
	src, err := open(l.path, false)
	if err != nil {
		return err
	}
	return l.strikeIn(src, left, from)
}

func (l *Log) strikeIn(src *Source, left map[string]decision, from int64) error {
	defer src.Close()
	if len(left) == 0 {
		return nil
	}
	if err := src.Skip(from); err != nil {
		return err
	}
	return each(src, func(raw []byte, _ bool) error {
		if rest, ok := bytes.CutPrefix(raw, leads[fID]); ok {
			id, _, _ := bytes.Cut(rest, []byte{'"'})
			delete(left, string(id))
		}
		return nil
	})
}

// total is the size of the log with its parts, in bytes, none of them of a line that is not whole.
func (l *Log) total() (size int64, err error) {
	err = l.log.Locked(func(e *durable.End) error {
		if err := l.settle(e); err != nil {
			return err
		}
		src, err := open(l.path, false)
		if err != nil {
			return err
		}
		defer src.Close()
		size, err = src.Size()
		if e.Torn {
			size++ // the newline that the next append writes
		}
		return err
	})
	return size, err
}

// decisions are the calls that were allowed behind a place of the audit log, by the id of their receipt, and where it
// ends.
func decisions(f *os.File, from int64) (map[string]decision, int64, error) {
	open := map[string]decision{}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("read the audit log: %w", err)
	}
	in := bufio.NewReader(io.NewSectionReader(f, from, info.Size()-from))
	for at := from; ; {
		raw, err := in.ReadBytes('\n')
		if err == io.EOF { // what has no newline is still being written, or torn: it was not released
			return open, at, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read the audit log: %w", err)
		}
		at += int64(len(raw))
		var d decision
		if record.DecodeOpen(raw, &d) != nil || d.Kind != "audit" {
			continue
		}
		id, ok := idOf(d.ID)
		switch {
		case ok && d.Decision == record.Allow:
			open[id] = d
		case ok: // the gate could not release it after all
			delete(open, id)
		}
	}
}

// settled are places in both logs: every decision before the one has its receipt, and none behind it has one before the
// other. Mark tells whether it is the same audit log still.
type settled struct {
	Audit    int64  `json:"audit_bytes"`
	Mark     string `json:"audit_mark"`
	Receipts int64  `json:"receipts_bytes"`
}

// markOf is a hash of what stands before a place of the audit log: of a line's end, in which there is a nonce.
func markOf(f io.ReaderAt, at int64) (string, error) {
	b := make([]byte, min(at, 1<<10))
	if _, err := f.ReadAt(b, at-int64(len(b))); err != nil {
		return "", fmt.Errorf("read the audit log: %w", err)
	}
	return record.HashBytes(b), nil
}

func (l *Log) settledPath() string { return filepath.Join(sideDir(l.path), "recovered") }

// settledLabel stands behind the origin in the first line of what is signed: it is no head's, and no checkpoint's.
const settledLabel = "/recovered\n"

// settled reads the places. They only save time: without them, or if they are not signed by our keys, everything is
// read. Otherwise, whoever can write there could have the receipts of interrupted calls left out.
func (l *Log) settled() (s settled) {
	f, err := openPart(l.settledPath())
	if err != nil {
		return settled{}
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxHeadBytes))
	if err != nil {
		return settled{}
	}
	// who has a key that was replaced must not have receipts left out, either
	known, err := verifiers(l.keys.Public[:1])
	if err != nil {
		return settled{}
	}
	n, err := note.Open(raw, known)
	if err != nil {
		return settled{}
	}
	text, ok := strings.CutPrefix(n.Text, l.keys.Origin+settledLabel)
	if !ok || record.Decode([]byte(text), &s) != nil || s.Audit < 0 || s.Receipts < 0 {
		return settled{}
	}
	return s
}

func (l *Log) remember(s settled) error {
	raw, err := record.Encode(s)
	if err != nil {
		return err
	}
	if raw, err = note.Sign(&note.Note{Text: l.keys.Origin + settledLabel + string(raw) + "\n"},
		l.keys.signer); err != nil {
		return fmt.Errorf("sign what is settled: %w", err)
	}
	return durable.Replace(l.settledPath(), raw, 0o600)
}

// settleAll notes that no call is to be taken for interrupted that was decided so far.
func (l *Log) settleAll(src *Source, audit string) error {
	f, err := openPart(audit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	_, end, err := decisions(f, 0)
	if err != nil {
		return err
	}
	s := settled{Audit: end}
	if s.Mark, err = markOf(f, end); err != nil {
		return err
	}
	if s.Receipts, err = src.Size(); err != nil {
		return err
	}
	return l.remember(s)
}
