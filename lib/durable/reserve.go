package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"clawsh/lib/spelling"
)

// Reserve reserves disk space for n more bytes of the log, so that appends of that size cannot fail because the disk
// is full. All processes that append to the log share this space.
func (l *Log) Reserve(n int64) error {
	err := l.Locked(func(e *End) error {
		err := reserve(l.f, e.Size, n)
		if errors.Is(err, errors.ErrUnsupported) {
			err = tryWrite(filepath.Dir(l.path), n)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reserve %s for %s: %w", spelling.Count(n, "byte"), l.path, err)
	}
	return nil
}

// tryWrite is for file systems that cannot reserve space: it reports whether there is room now.
func tryWrite(dir string, n int64) error {
	f, err := os.CreateTemp(dir, ".room-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, n))
	return errors.Join(err, f.Sync(), os.Remove(f.Name()), f.Close())
}
