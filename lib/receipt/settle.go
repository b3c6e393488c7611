package receipt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"clawsh/lib/durable"
)

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
	if l.resume(e) {
		return nil
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
		tail, from, err := l.tail(e)
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
		if err := e.Cut(from); err != nil {
			return nil, err
		}
	}
	if e.Size > 0 {
		last, err := e.Last()
		return bytes.Clone(last), err
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

// tail is what stands behind the last newline, and where it begins. Of zeros, which may be many, it is the first; of what is longer
// than any receipt, the end.
func (l *Log) tail(e *durable.End) ([]byte, int64, error) {
	const piece = 64 << 10
	size := e.Size
	for {
		n := min(size, piece)
		buf := make([]byte, n)
		if _, err := e.ReadAt(buf, size-n); err != nil && err != io.EOF {
			return nil, 0, fmt.Errorf("read the end of %s: %w", l.path, err)
		}
		written := len(bytes.TrimRight(buf, "\x00"))
		if written == 0 && size > n {
			size -= n
			continue
		}
		if more := min(size-n, piece); written < maxLineBytes && more > 0 { // it may begin before
			before := make([]byte, more)
			if _, err := e.ReadAt(before, size-n-more); err != nil {
				return nil, 0, fmt.Errorf("read the end of %s: %w", l.path, err)
			}
			buf, n = append(before, buf...), n+more
		}
		at := bytes.LastIndexByte(buf, '\n') + 1
		if size < e.Size {
			buf = append(buf, 0)
		}
		return buf[at:], size - n + int64(at), nil
	}
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
	buf, ended := bytes.CutSuffix(buf, []byte{'\n'})
	if !ended {
		return nil, fmt.Errorf("%w: %s does not end with a whole line: run claw-receipt verify", ErrTampered, f.Name())
	}
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
	if h.count == 0 && n == e.Size {
		return l.pass(buf, h, nil)
	}
	for len(buf) > 0 {
		raw, rest, _ := bytes.Cut(buf, []byte{'\n'})
		if x, err := Parse(raw); err == nil && x.ReceiptHash == h.hash {
			return l.pass(rest, h, nil)
		}
		buf = rest
	}
	return head{}, false
}

// resume goes from the receipt that we appended ourselves to the last, if only whole receipts with macs came since, and the head
// names one of them. Then its signature says nothing that the chain and the macs do not say.
func (l *Log) resume(e *durable.End) bool {
	n := e.Size - l.end
	if l.end == 0 || e.Torn || n <= 0 || n > 32<<10 {
		return false
	}
	buf := make([]byte, n)
	if _, err := e.ReadAt(buf, l.end); err != nil {
		return false
	}
	named := false
	h, ok := l.unverifiedHead()
	if !ok {
		return false
	}
	now, ok := l.pass(buf, l.now, func(at head) { named = named || at == h })
	if !ok || !named {
		return false
	}
	l.now = now
	return true
}

// pass checks receipts that follow the one that from names, and returns the last. It tells seen of each, from included.
func (l *Log) pass(lines []byte, from head, seen func(head)) (head, bool) {
	v := &verifier{trust: Trust{Keys: l.keys}}
	if v.prepare(nil) != nil {
		return from, false
	}
	v.report.Count = from.count
	copy(v.last[:], from.hash)
	for at := from; ; at = (head{v.report.Count, string(v.last[:])}) {
		if seen != nil {
			seen(at)
		}
		if len(lines) == 0 {
			return at, true
		}
		raw, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if v.report.Count++; v.receipt(raw) != nil || v.macBad > 0 {
			return from, false
		}
		lines = rest
	}
}
