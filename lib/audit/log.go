// Package audit is the log of what the gate has decided: its lines, how they are added, and whether nobody else has
// added any.
package audit

import (
	"bytes"
	"errors"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Line is one line of audit.jsonl: what was decided, by which policy. It holds a hash of the arguments, not the
// arguments, which may be secret.
type Line struct {
	V              int         `json:"v"`
	Kind           record.Kind `json:"kind"`
	ID             string      `json:"id"`
	TS             string      `json:"ts"`
	CallID         string      `json:"call_id"`
	ConversationID string      `json:"conversation_id"`
	Tool           string      `json:"tool"`
	ArgsSHA256     string      `json:"args_sha256"`
	ArgsHash       string      `json:"args_hash,omitzero"`
	Decision       string      `json:"decision"`
	Risk           string      `json:"risk"`
	Rule           string      `json:"rule"`
	Reason         string      `json:"reason"`
	Approval       string      `json:"approval"`
	PolicyHash     string      `json:"policy_hash"`
	ExpiresAt      string      `json:"expires_at,omitzero"`
	Nonce          string      `json:"nonce,omitzero"`
}

// Kind is that of each line.
const Kind record.Kind = "audit"

// Log is an audit log that is open.
type Log struct{ file *durable.Log }

// Open opens a log, or makes one.
func Open(path string) (*Log, error) {
	file, err := durable.OpenLog(path, 0o600)
	if err != nil {
		return nil, err
	}
	return &Log{file}, nil
}

// Append adds a line, and syncs it if a call is to run by it. A log that ends with what no gate has written takes none.
func (l *Log) Append(line []byte, sync bool) error {
	return l.file.AppendNext(sync, func(e *durable.End) ([]byte, error) { return line, atEnd(e) })
}

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() }

// lineBegins is how each line of the audit log begins: what a crash leaves of one begins so, too.
const lineBegins = `{"v":1,"kind":"audit","id":"audit-`

// begins tells whether bytes are a line of ours, or the beginning of one.
func begins(line []byte) bool {
	n := min(len(line), len(lineBegins))
	return n > 0 && string(line[:n]) == lineBegins[:n]
}

// atEnd refuses to add to a log that ends with what no gate has written: whoever did that may have done more. A torn
// line of ours is a crash.
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
