package receipt

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Interrupted is the error of a call of which nobody can say what became of it.
const Interrupted = "interrupted, outcome unknown"

// Recovery is what Recover did. Pending are the calls that may still be under way.
type Recovery struct {
	Written []Receipt `json:"written"`
	Pending int       `json:"pending"`
}

// RecoverOptions say when a call is over. Quiet tells that no stage runs that could still run a call or write its receipt: then it
// is over when its permit has expired. Else it is when Patience has passed since: as long as a tool may take, and more.
type RecoverOptions struct {
	Audit    string // the gate's log
	Quiet    bool
	Patience time.Duration
	Now      time.Time
}

// decision is what Recover needs of a line of the audit log.
type decision struct {
	Kind           record.Kind `json:"kind"`
	ID             string      `json:"id"`
	ConversationID string      `json:"conversation_id"`
	Tool           string      `json:"tool"`
	ArgsHash       string      `json:"args_hash"`
	ArgsSHA256     string      `json:"args_sha256"`
	Decision       string      `json:"decision"`
	Risk           string      `json:"risk"`
	ExpiresAt      string      `json:"expires_at"`
}

// Recover writes a failed receipt, "interrupted, outcome unknown", for every call that the gate has allowed, that is over, and
// that has none: a process died before it was written. What was settled before is remembered beside the log and not read again.
func (l *Log) Recover(o RecoverOptions) (Recovery, error) {
	r := Recovery{Written: []Receipt{}}
	from := l.settled()
	size, err := l.total()
	if err != nil {
		return r, err
	}
	open, audit, err := decisions(o.Audit, from.Audit)
	if errors.Is(err, errShrunk) { // somebody has put another log in its place
		from = settled{}
		open, audit, err = decisions(o.Audit, 0)
	}
	if err != nil || len(open) == 0 && audit == from.Audit {
		return r, err
	}
	if from.Receipts > size {
		from.Receipts = 0
	}
	if err := l.strike(open, from.Receipts); err != nil {
		return r, err
	}
	for id, d := range open {
		expires, err := time.Parse(time.RFC3339, d.ExpiresAt)
		wait := o.Patience
		if o.Quiet {
			wait = 0
		}
		if err == nil && o.Now.Before(expires.Add(wait)) {
			r.Pending++
			continue
		}
		x, err := l.interrupted(id, d, from.Receipts)
		if errors.Is(err, ErrExists) {
			continue
		}
		if err != nil {
			return r, fmt.Errorf("write the receipt of an interrupted call: %w", err)
		}
		r.Written = append(r.Written, x)
	}
	if r.Pending == 0 {
		err = l.remember(settled{Audit: audit, Receipts: size})
	}
	return r, err
}

// interrupted writes one receipt, unless it has come meanwhile.
func (l *Log) interrupted(id string, d decision, from int64) (Receipt, error) {
	args := d.ArgsHash
	if args == "" {
		args = d.ArgsSHA256
	}
	result, err := resultHash(false, "", Interrupted)
	if err != nil {
		return Receipt{}, err
	}
	risk := d.Risk
	if !isRisk(risk) {
		risk = record.RiskHigh
	}
	r := Receipt{ID: id, Timestamp: record.Now(), ConversationID: ascii(d.ConversationID), Tool: ascii(d.Tool), ArgsHash: args, ResultHash: result,
		Status: record.StatusFailed, Risk: risk, PreviousHash: Genesis, ReceiptHash: Genesis}
	line := lineOf(r)
	if err := line.check(); err != nil {
		return r, fmt.Errorf("line %s of the audit log: %w", d.ID, err)
	}
	err = l.log.AppendNext(true, func(e *durable.End) ([]byte, error) {
		ours := e.Ours
		if err := l.settle(e); err != nil {
			return nil, err
		}
		if !ours {
			left := map[string]decision{id: d}
			if err := l.strikeLocked(left, from); err != nil {
				return nil, err
			}
			if len(left) == 0 {
				return nil, ErrExists
			}
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

var errShrunk = errors.New("the audit log is shorter than before")

// decisions are the calls that were allowed behind a place of the audit log, by the id of their receipt, and where it ends.
func decisions(path string, from int64) (map[string]decision, int64, error) {
	open := map[string]decision{}
	f, err := openPart(path)
	if errors.Is(err, fs.ErrNotExist) {
		return open, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.Size() < from {
		return nil, 0, errShrunk
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
		if record.DecodeOpen(raw, &d) != nil || d.Kind != "audit" || d.Decision != record.Allow {
			continue
		}
		if id, ok := idOf(d.ID); ok {
			open[id] = d
		}
	}
}

// settled are places in both logs: every decision before the one has its receipt, and none behind it has one before the other.
type settled struct {
	Audit    int64 `json:"audit_bytes"`
	Receipts int64 `json:"receipts_bytes"`
}

func (l *Log) settledPath() string { return filepath.Join(sideDir(l.path), "recovered") }

// settled reads the places. They only save time: without them everything is read.
func (l *Log) settled() (s settled) {
	raw, err := os.ReadFile(l.settledPath())
	if err != nil || record.Decode(raw, &s) != nil || s.Audit < 0 || s.Receipts < 0 {
		return settled{}
	}
	return s
}

func (l *Log) remember(s settled) error {
	raw, err := record.Encode(s)
	if err != nil {
		return err
	}
	return durable.Replace(l.settledPath(), raw, 0o600)
}
