package permit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/record"
)

// maxRegisterBytes is the size from which a register is rid of expired permits: about a thousand lines.
const maxRegisterBytes = 64 << 10

// Register remembers used permits until they expire, in a file shared by all processes of a home: lines of nonce and expiry.
// It is not synced: a machine takes longer to come back from a crash than a permit lives.
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
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the register of used permits: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("open the register of used permits: %s is no regular file", r.path)
	}
	return f, nil
}

// Use marks the permit with this nonce as used; ErrUsed if it was before. A register that cannot be read or written, or
// holds anything but such lines, is an error: then no permit is good. A process that died while it wrote leaves part of a
// line: its permit was not acted upon, since that happens only after Use.
func (r *Register) Use(nonce string, expires, now time.Time) error {
	f, err := r.open()
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", r.path, err)
		}
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<20))
	if err != nil {
		return fmt.Errorf("read %s: %w", r.path, err)
	}
	alive, err := r.find(data, nonce, now)
	if err != nil {
		return err
	}
	line := nonce + " " + expires.UTC().Format(record.TimeFormat) + "\n"
	if len(data) > maxRegisterBytes {
		return r.rewrite(f, append(alive, line...))
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		line = "\n" + line
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("write %s: %w", r.path, err)
	}
	return nil
}

// lineBytes is the length of a line: a nonce, a blank, a time.
const lineBytes = 32 + 1 + len(record.TimeFormat)

// find looks for the nonce and, if the register is due to be pruned, returns the lines that have not expired.
func (r *Register) find(data []byte, nonce string, now time.Time) ([]byte, error) {
	prune := len(data) > maxRegisterBytes
	var alive []byte
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		used, at, _ := strings.Cut(string(line), " ")
		switch {
		case used == nonce:
			return nil, ErrUsed
		case len(line) > lineBytes, len(line) == lineBytes && len(at) != len(record.TimeFormat):
			return nil, fmt.Errorf("%s: line %d is damaged: remove the file once no permit can be valid any more (%s)", r.path, n, Lifetime)
		case prune && whole && len(line) == lineBytes && at > now.UTC().Format(record.TimeFormat):
			alive = append(append(alive, line...), '\n')
		}
		// a shorter line is what a dying process left
	}
	return alive, nil
}

// rewrite replaces the content in place, under the lock that the caller holds. A crash in between loses used permits, but
// only together with the machine: the write follows at once.
func (r *Register) rewrite(f *os.File, data []byte) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("prune %s: %w", r.path, err)
	}
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("prune %s: %w", r.path, err)
	}
	return nil
}
