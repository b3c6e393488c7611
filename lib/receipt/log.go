package receipt

import (
	"fmt"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Log is the receipt log, shared between processes.
type Log struct {
	path string
	log  *durable.Log
}

// OpenLog opens the log at path, and creates it (0600) if it is missing.
func OpenLog(path string) (*Log, error) {
	l, err := durable.OpenLog(path, 0o600)
	if err != nil {
		return nil, err
	}
	return &Log{path, l}, nil
}

// Append writes the receipt of a result at the end of the chain and returns once it is synced to disk. It chains to the
// last complete line, which must be a receipt: a log whose end has been tampered with is not continued. Part of a line,
// left by a process that died while it wrote, is ended with a newline and stays for verify to report.
func (l *Log) Append(res record.ToolResult) (Receipt, error) {
	r, err := of(res)
	if err != nil {
		return r, err
	}
	err = l.log.AppendNext(true, func(last []byte, unended bool) ([]byte, error) {
		if r.PreviousHash, err = l.previous(last, unended); err != nil {
			return nil, err
		}
		if r.ReceiptHash, err = r.hash(); err != nil {
			return nil, err
		}
		return record.Encode(r)
	})
	return r, err
}

// previous is the hash to chain to. Behind a line that is not ended or not finished, the whole log is read to find it.
func (l *Log) previous(last []byte, unended bool) (string, error) {
	if last == nil && !unended {
		return Genesis, nil
	}
	if unended || torn(last) {
		prev, err := lastWhole(l.path)
		if err != nil {
			return "", fmt.Errorf("find the last receipt: %w", err)
		}
		return prev, nil
	}
	r, err := parse(last)
	if err != nil {
		return "", fmt.Errorf("the last line of %s is no receipt (%w): run claw-receipt verify", l.path, err)
	}
	return r.ReceiptHash, nil
}

// Close closes the log.
func (l *Log) Close() error { return l.log.Close() }
