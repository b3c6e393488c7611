package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Options say how a Log is kept.
type Options struct {
	// Keys is the directory of the keys (CreateKeys).
	Keys string
	// RotateBytes is the size that the log does not exceed: then what is in it becomes a part of its own. 0 is never.
	RotateBytes int64
}

// Log is the receipt log, shared between processes. It is not safe for concurrent use within one.
//
// An append is this sequence; what a crash behind each step leaves, and who recovers it:
//
//	lock, look           nothing
//	rotate: copy         a part that holds the same as the log: the next append cuts the log, Verify reads it once
//	rotate: cut          an empty log behind its parts
//	write                the beginning of a receipt, which the next append moves away; or all of it, not yet acknowledged
//	unlock, sync         a receipt that the head does not count: the next append counts it
//	lock, replace head   the whole
type Log struct {
	path string
	o    Options
	log  *durable.Log
	keys *Keys
	seen os.FileInfo // of the file of keys
	now  head        // after our last append, or as found
}

// OpenLog opens the log at path, and creates it (0600) if it is missing. There must be keys.
func OpenLog(path string, o Options) (*Log, error) {
	l := &Log{path: path, o: o}
	if err := l.loadKeys(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(sideDir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the receipt log: %w", err)
	}
	var err error
	if l.log, err = durable.OpenLog(path, 0o600); err != nil {
		return nil, err
	}
	return l, nil
}

// loadKeys reads the keys, again if they have been replaced.
func (l *Log) loadKeys() error {
	secret, _ := keyFiles(l.o.Keys)
	info, err := os.Lstat(secret)
	if err == nil && l.seen != nil && os.SameFile(info, l.seen) && info.ModTime().Equal(l.seen.ModTime()) {
		return nil
	}
	keys, err := LoadKeys(l.o.Keys)
	if err != nil {
		return err
	}
	l.keys, l.seen = keys, info
	return nil
}

// Append writes the receipt of a result at the end of the chain and returns once it is synced to disk. A log whose end is not
// what its head names, or that has no head, has been tampered with: it is not continued (ErrTampered). A call that was
// allowed gets one receipt: if there is one already (Recover wrote it) that is ErrExists.
func (l *Log) Append(res record.ToolResult) (Receipt, error) {
	r, derived, err := of(res)
	if err != nil {
		return r, err
	}
	late := derived && (res.Metadata.Permit == record.PermitExpired || expired(res.Verdict.ExpiresAt, time.Now()))
	err = l.log.AppendNext(true, func(e *durable.End) ([]byte, error) {
		if err := l.settle(e); err != nil {
			return nil, err
		}
		if late {
			if there, err := l.has(r.ID); err != nil {
				return nil, err
			} else if there && res.Metadata.Permit == "" {
				return nil, fmt.Errorf("%w: %s", ErrExists, r.ID)
			} else if there {
				r.ID = record.NewID(idPrefix)
			}
		}
		return l.next(e, &r)
	})
	if err != nil {
		return r, err
	}
	return r, l.writeHead()
}

func expired(at string, now time.Time) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err != nil || !now.Before(t)
}

// next is the line of a receipt that is to be the last. The log is settled.
func (l *Log) next(e *durable.End, r *Receipt) ([]byte, error) {
	r.PreviousHash = l.now.hash
	line := lineOf(*r)
	var h [64]byte
	line.sum(&h, nil)
	r.ReceiptHash = string(h[:])
	r.MAC = l.keys.mac(r.ReceiptHash)
	line = lineOf(*r)
	raw := line.encode()
	if limit := l.o.RotateBytes; limit > 0 && e.Size > 0 && e.Size+int64(len(raw)) >= limit {
		if err := l.rotate(e); err != nil {
			return nil, err
		}
	}
	l.now = head{l.now.count + 1, r.ReceiptHash}
	return raw, nil
}

// settle brings the log into the state that an append ends in, and finds its end. After our own append nothing is to do.
func (l *Log) settle(e *durable.End) error {
	if err := l.loadKeys(); err != nil {
		return err
	}
	if e.Ours {
		return nil
	}
	if err := l.endRotation(e); err != nil {
		return err
	}
	last, err := l.lastLine(e)
	if err != nil {
		return err
	}
	return l.agree(e, last)
}

// endRotation cuts a log that was copied to a part by a process that died before it cut it.
func (l *Log) endRotation(e *durable.End) error {
	parts, err := countParts(l.path)
	if err != nil || parts == 0 || e.Size == 0 {
		return err
	}
	same, err := sameFile(partPath(l.path, parts-1), e, e.Size)
	if err != nil || !same {
		return err
	}
	return e.Cut(0)
}

// lastLine is the last receipt's line: in the log or, if that is empty, in the last part. What is left of one that was being
// written is moved away.
func (l *Log) lastLine(e *durable.End) ([]byte, error) {
	if e.Torn {
		tail, err := l.tail(e)
		if err != nil {
			return nil, err
		}
		if _, err := Parse(tail); err == nil {
			return tail, nil // whole but for its newline, which is written before the next
		}
		if !torn(tail) {
			return nil, fmt.Errorf("%w: its last line is no receipt, nor the beginning of one: run claw-receipt verify", ErrTampered)
		}
		aside := filepath.Join(sideDir(l.path), "torn-"+time.Now().UTC().Format("20060102T150405.000000000Z"))
		if err := durable.Replace(aside, tail, 0o600); err != nil {
			return nil, err
		}
		if err := e.Cut(e.Size - int64(len(tail))); err != nil {
			return nil, err
		}
	}
	if e.Size > 0 {
		return bytes.Clone(e.Last), nil
	}
	parts, err := countParts(l.path)
	if err != nil || parts == 0 {
		return nil, err
	}
	f, err := openPart(partPath(l.path, parts-1))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return lastOf(f)
}

// tail is what stands behind the last newline.
func (l *Log) tail(e *durable.End) ([]byte, error) {
	n := min(e.Size, maxLineBytes)
	buf := make([]byte, n)
	if _, err := e.ReadAt(buf, e.Size-n); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read the end of %s: %w", l.path, err)
	}
	return buf[bytes.LastIndexByte(buf, '\n')+1:], nil
}

// lastOf is the last line of a file of whole lines.
func lastOf(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := min(info.Size(), 2*maxLineBytes)
	buf := make([]byte, n)
	if _, err := f.ReadAt(buf, info.Size()-n); err != nil && err != io.EOF {
		return nil, err
	}
	buf = bytes.TrimSuffix(buf, []byte{'\n'})
	return buf[bytes.LastIndexByte(buf, '\n')+1:], nil
}

// agree holds the end of the log against the head, and counts the receipts behind it.
func (l *Log) agree(e *durable.End, last []byte) error {
	raw, err := readHead(l.path)
	if err != nil {
		return err
	}
	if raw == nil {
		return fmt.Errorf("%w: it has no head, so its end may be missing: run claw-receipt verify, and claw-receipt keys --accept if all is well", ErrTampered)
	}
	h, err := openHead(raw, l.keys.Public)
	if err != nil {
		return fmt.Errorf("%w: the head is not good: %w", ErrTampered, err)
	}
	if last == nil && h.count == 0 {
		l.now = h
		return nil
	}
	if r, err := Parse(last); err == nil && r.ReceiptHash == h.hash {
		l.now = h
		return nil
	}
	if now, ok := l.follow(e, h); ok {
		l.now = now
		return nil
	}
	src, err := open(l.path, false)
	if err != nil {
		return err
	}
	defer src.Close()
	rep, err := Verify(src, Trust{Keys: l.keys})
	if err != nil {
		return err
	}
	if !rep.Valid {
		return fmt.Errorf("%w: receipt %d: %s: run claw-receipt verify", ErrTampered, rep.FirstBad, rep.Reason)
	}
	l.now = head{rep.Count, rep.LastHash}
	return nil
}

// follow goes from the receipt that the head names to the last, if it is near: other processes append, and their heads are on
// their way.
func (l *Log) follow(e *durable.End, h head) (head, bool) {
	n := min(e.Size, 32<<10)
	buf := make([]byte, n)
	if _, err := e.ReadAt(buf, e.Size-n); err != nil && err != io.EOF {
		return head{}, false
	}
	v := &verifier{trust: Trust{Keys: l.keys}}
	if v.prepare(nil) != nil {
		return head{}, false
	}
	found := h.count == 0 && n == e.Size
	if found {
		copy(v.last[:], Genesis)
	}
	for raw := range bytes.SplitSeq(bytes.TrimSuffix(buf, []byte{'\n'}), []byte{'\n'}) {
		if found {
			if v.report.Count++; v.receipt(raw) != nil || v.macBad > 0 {
				return head{}, false
			}
			continue
		}
		if x, err := Parse(raw); err == nil && x.ReceiptHash == h.hash {
			found, v.report.Count = true, h.count
			copy(v.last[:], h.hash)
		}
	}
	return head{v.report.Count, string(v.last[:])}, found
}

// rotate makes a part of what is in the log, and empties it. The log is locked.
func (l *Log) rotate(e *durable.End) error {
	parts, err := countParts(l.path)
	if err != nil {
		return err
	}
	dir := sideDir(l.path)
	f, err := os.CreateTemp(dir, ".part-")
	if err != nil {
		return fmt.Errorf("rotate the receipts: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, io.NewSectionReader(e, 0, e.Size))
	if e.Torn && err == nil { // the last receipt lacks its newline
		_, err = f.WriteString("\n")
	}
	if err = errors.Join(err, f.Chmod(0o400), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), partPath(l.path, parts))
	}
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("rotate the receipts: %w", err)
	}
	return e.Cut(0)
}

// writeHead brings the head up to date, unless another process has gone further.
func (l *Log) writeHead() error {
	mine := l.now
	return l.log.Locked(func(e *durable.End) error {
		if !e.Ours {
			raw, err := readHead(l.path)
			if err != nil {
				return err
			}
			if h, err := openHead(raw, l.keys.Public); err == nil && h.count >= mine.count {
				return nil
			}
		}
		return writeHead(l.path, l.keys, mine, false)
	})
}

// has tells whether there is a receipt with this id. The log is locked.
func (l *Log) has(id string) (bool, error) {
	src, err := open(l.path, false)
	if err != nil {
		return false, err
	}
	defer src.Close()
	_, _, err = Find(src, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Accept signs a head for the log as it is, after an operator has looked at it: for one whose head was lost. Its chain and macs
// must be good.
func Accept(path string, o Options) (Report, error) {
	l, err := OpenLog(path, o)
	if err != nil {
		return Report{}, err
	}
	defer l.Close()
	var rep Report
	err = l.log.Locked(func(*durable.End) error {
		src, err := open(path, false)
		if err != nil {
			return err
		}
		defer src.Close()
		if rep, err = Verify(src, Trust{Keys: l.keys, Require: LevelMac}); err != nil || !rep.Valid {
			return err
		}
		return writeHead(path, l.keys, head{rep.Count, rep.LastHash}, true)
	})
	return rep, err
}

// Close syncs the head, which appends leave to the system, and closes the log.
func (l *Log) Close() error {
	var errs []error
	if f, err := os.Open(headPath(l.path)); err == nil {
		errs = append(errs, f.Sync(), f.Close())
	}
	return errors.Join(append(errs, l.log.Close())...)
}
