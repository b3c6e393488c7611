package permit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// maxRegisterBytes is more than any register needs: its lines are reused, so it contains the permits of two minutes.
const maxRegisterBytes = 4 << 20

// Register remembers used permits until they expire, in a file shared by all processes of a home: lines of nonce and
// expiry, all of one length. A new permit replaces one that expired more than Lifetime ago (clocks step back), or is
// appended. So nothing is ever moved or truncated: a process killed at any byte leaves all other lines intact.
//
// It is not synced. That would matter only if the machine crashed and rebooted, and the same permit was presented
// again, all within Lifetime; anyone who can do that can do worse.
type Register struct{ path string }

// OpenRegister returns the register in the file at path, which need not exist.
func OpenRegister(path string) (*Register, error) {
	r := &Register{path}
	f, err := r.open()
	if err != nil {
		return nil, err
	}
	return r, f.Close()
}

func (r *Register) open() (*os.File, error) {
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the list of used permits: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("open the list of used permits: %s is not a regular file", r.path)
	}
	return f, nil
}

// Use marks the permit with this nonce as used; ErrUsed if it was before. If the register cannot be read or written,
// or contains anything but such lines, the error names file and line, and no permit is good. The only exception is an
// incomplete line, left by a process that died while it wrote. Its permit was not acted upon, since that happens only
// after Use; it counts as used if its nonce is complete, and is otherwise ignored.
func (r *Register) Use(nonce string, expires, now time.Time) error {
	if len(nonce) != nonceBytes || !matches(nonce, linePattern) {
		return fmt.Errorf("%w: its nonce", ErrMalformed)
	}
	f, err := r.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if err := durable.Flock(f, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", r.path, err)
	}
	data, err := r.read(f)
	if err != nil {
		return err
	}
	at, err := r.find(data, nonce, now)
	if err != nil {
		return err
	}
	line := nonce + " " + expires.UTC().Format(record.TimeFormat) + "\n"
	if at == len(data) && at > 0 && data[at-1] != '\n' {
		line = "\n" + line
	}
	if _, err := f.WriteAt([]byte(line), int64(at)); err != nil {
		return fmt.Errorf("write %s: %w", r.path, err)
	}
	return nil
}

// read returns the whole register. It does not change meanwhile: the caller has the lock.
func (r *Register) read(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.path, err)
	}
	if info.Size() >= maxRegisterBytes {
		return nil, fmt.Errorf("%s is too large: remove it once no permit can be valid any more (%s)", r.path, Lifetime)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size()), data); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.path, err)
	}
	return data, nil
}

const nonceBytes = 32

// linePattern is a line: x is a hexadecimal digit, 0 a decimal one, all else is itself.
var linePattern = strings.Repeat("x", nonceBytes) + " 0000-00-00T00:00:00.000Z"

// matches reports whether a text matches a pattern, or the beginning of one.
func matches[T string | []byte](text T, pattern string) bool {
	if len(text) > len(pattern) {
		return false
	}
	for i := range len(text) {
		c, digit := text[i], text[i]-'0' <= 9
		if ok := digit && pattern[i] == '0' || pattern[i] == 'x' && (digit || c-'a' <= 5) || c == pattern[i] &&
			c != 'x'; !ok {
			return false
		}
	}
	return true
}

// find returns where the line of a new nonce goes; ErrUsed if the nonce is there already.
func (r *Register) find(data []byte, nonce string, now time.Time) (int, error) {
	long := now.Add(-Lifetime).UTC().Format(record.TimeFormat)
	free, at := len(data), 0
	for n := 1; at < len(data); n++ {
		line, _, whole := bytes.Cut(data[at:], []byte("\n"))
		switch {
		case len(line) >= nonceBytes && string(line[:nonceBytes]) == nonce:
			return 0, ErrUsed
		case !matches(line, linePattern):
			return 0, fmt.Errorf("%s: line %d is damaged: remove the file once no permit can be valid any more (%s)",
				r.path, n, Lifetime)
		case whole && free == len(data) && len(line) == len(linePattern) && string(line[nonceBytes+1:]) < long:
			free = at
		}
		at += len(line) + 1
	}
	return free, nil
}
