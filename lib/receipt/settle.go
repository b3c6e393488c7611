package receipt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/spelling"
)

// window is how much of the end of the log is checked, as a chain and by its macs, before a receipt is appended:
// several receipts, however long.
const window = 8 << 10

// near is how far behind a head may be to be brought up to date without a look at the whole log.
const near = 32 << 10

// settle brings the log into the state that an append ends in, and finds its end. After our own append nothing is to
// do, if the head is the one that we wrote.
//
// It is bounded work: the head says, signed, how many bytes so many receipts take, and which is the last. A log that is
// longer, shorter or another one at its end is looked at as a whole, and not continued if Verify finds fault with it. A
// change that keeps the size of a log, further from its end than window, is for Verify alone to find.
func (l *Log) settle(e *durable.End) error {
	if err := l.loadKeys(); err != nil {
		return err
	}
	raw, err := l.head.read(l.path)
	if err != nil {
		return err
	}
	if e.Ours && l.wrote != nil && bytes.Equal(raw, l.wrote) {
		return nil
	}
	if err := l.endRotation(e); err != nil {
		return err
	}
	if l.resume(e, raw) {
		return nil
	}
	if err := l.mend(e); err != nil {
		return err
	}
	return l.agree(e, raw)
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

// mend moves away what is left of a receipt that was being written. One that is whole but for its newline stays: that
// is written before the next.
func (l *Log) mend(e *durable.End) error {
	if !e.Torn {
		return nil
	}
	tail, from, err := l.tail(e)
	if err != nil {
		return err
	}
	if _, err := Parse(tail); err == nil {
		return nil
	}
	if !torn(tail) {
		return fmt.Errorf("%w: its last line is neither a receipt nor the beginning of one (run: claw-receipt verify)",
			ErrTampered)
	}
	aside := filepath.Join(sideDir(l.path), "torn-"+time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := durable.Replace(aside, tail, 0o600); err != nil {
		return err
	}
	return e.Cut(from)
}

// tail is what stands behind the last newline, and where it begins. Of zeros, which may be many, it is the first; of
// what is longer than any receipt, the end.
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

// agree compares the end of the log with the head, and counts the receipts after it.
func (l *Log) agree(e *durable.End, raw []byte) error {
	if raw == nil {
		return fmt.Errorf("%w: it has no head, so receipts at the end may be missing (run: claw-receipt verify; if the rest is good: "+
			"claw-receipt keys --accept)", ErrTampered)
	}
	h, err := openHead(raw, l.keys.Public)
	if m, ok := readMark(l.path, l.keys); err != nil && ok && m.begun(l.path) {
		return fmt.Errorf("%w: setting it aside was interrupted (run claw-receipt set-aside again)", ErrTampered)
	}
	if err != nil {
		return fmt.Errorf("%w: the head is invalid: %w", ErrTampered, err)
	}
	if now, ok, err := l.follow(e, h); ok || err != nil {
		l.now = now
		return err
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
		return fmt.Errorf("%w: receipt %d: %s (run: claw-receipt verify)", ErrTampered, rep.FirstBad, rep.Reason)
	}
	l.now = head{rep.Count, rep.LastHash, rep.bytes}
	before, _, err := partsSize(l.path)
	if more := before + e.Size - rep.bytes; err == nil && more != 0 && !(e.Torn && more == -1) {
		err = fmt.Errorf("%w: an older part of it has %s after its last receipt (run: claw-receipt verify)", ErrTampered,
			spelling.Count(more, "byte"))
	}
	return err
}

// follow goes from the receipt that the head names, which must stand where the head says, to the last, if that is near:
// other processes append, and their heads are on their way.
func (l *Log) follow(e *durable.End, h head) (head, bool, error) {
	before, last, err := partsSize(l.path)
	if err != nil || h.size < before || h.size == noSize {
		return h, false, err
	}
	at := h.size - before
	switch {
	case at > 0:
		if !l.vouched(e, at, before == 0, h) {
			return h, false, nil
		}
	case before == 0:
		if h.count != 0 || h.hash != Genesis {
			return h, false, nil
		}
	default:
		f, err := openPart(last)
		if err != nil {
			return h, false, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || !l.vouched(f, info.Size(), info.Size() == before, h) {
			return h, false, err
		}
	}
	now, ok := l.rest(e, at, h, nil)
	return now, ok, nil
}

// partsSize is how many bytes the complete parts have, and which is the last.
func partsSize(log string) (size int64, last string, err error) {
	n, err := countParts(log)
	for i := range n {
		last = partPath(log, i)
		info, err := os.Lstat(last)
		if err != nil {
			return 0, "", fmt.Errorf("examine the receipts: %w", err)
		}
		size += info.Size()
	}
	return size, last, err
}

// vouched tells whether the receipts that end at a place, as far as the window shows them, are a chain with macs, and
// the last is the one that a head names. whole tells that nothing stands before the beginning of r.
func (l *Log) vouched(r io.ReaderAt, at int64, whole bool, h head) bool {
	from := max(at-window, 0)
	buf := make([]byte, at-from)
	n, err := r.ReadAt(buf, from)
	if err != nil && err != io.EOF || n < len(buf)-1 { // the last newline may be missing
		return false
	}
	if buf = buf[:n]; from > 0 {
		_, buf, _ = bytes.Cut(buf, []byte{'\n'})
	}
	if n == int(at-from) && !bytes.HasSuffix(buf, []byte{'\n'}) {
		return false
	}
	lines := bytes.Count(bytes.TrimSuffix(buf, []byte{'\n'}), []byte{'\n'}) + 1
	first := head{count: h.count - lines, hash: Genesis}
	if from > 0 || !whole {
		raw, _, _ := bytes.Cut(buf, []byte{'\n'})
		x, err := Parse(raw)
		if err != nil || first.count < 1 {
			return false
		}
		first.hash = x.PreviousHash
	} else if first.count != 0 {
		return false
	}
	now, ok := l.pass(buf, first, nil)
	return ok && now.count == h.count && now.hash == h.hash
}

// rest goes from the receipt that a head names to the last, where it ends at a place of the log.
func (l *Log) rest(e *durable.End, at int64, h head, seen func(head)) (head, bool) {
	n := e.Size - at
	if e.Torn && n == -1 {
		return h, true // it lacks its newline
	}
	if n < 0 || n > near {
		return h, false
	}
	buf := make([]byte, n)
	if _, err := e.ReadAt(buf, at); err != nil && err != io.EOF {
		return h, false
	}
	return l.pass(buf, h, seen)
}

// resume goes from the receipt that we appended ourselves to the last, if only whole receipts with macs came since, and
// the head names one of them. Then its signature says nothing that the chain and the macs do not say.
func (l *Log) resume(e *durable.End, raw []byte) bool {
	if l.end == 0 || e.Torn {
		return false
	}
	if before, _, err := partsSize(l.path); err != nil || before+l.end != l.now.size {
		return false
	}
	named := false
	h, ok := l.unverified(raw)
	if !ok || !l.vouched(e, l.end, l.end == l.now.size, l.now) {
		return false
	}
	now, ok := l.rest(e, l.end, l.now, func(at head) { named = named || at == h })
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
	v.report.Count, v.report.bytes = from.count, from.size
	copy(v.last[:], from.hash)
	for at := from; ; at = (head{v.report.Count, string(v.last[:]), v.report.bytes}) {
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
