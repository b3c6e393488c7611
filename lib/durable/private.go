package durable

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxPrivateBytes is the maximum size of a key file.
const maxPrivateBytes = 64 << 10

// ReadPrivate reads a small file of keys. It is an error if others have one of the rights in forbidden (0o077: any),
// if somebody else owns the file, or if it is a link or not a regular file. Errors never quote the content.
func ReadPrivate(path string, forbidden fs.FileMode) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("key %s is not a regular file", path)
	case info.Mode().Perm()&forbidden != 0:
		return nil,
			fmt.Errorf("key %s is accessible to others (mode %04o): make a new one if it may have been read, or chmod it", path, info.Mode().Perm())
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("key %s belongs to user %d, not to you", path, st.Uid)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPrivateBytes+1))
	if err == nil && len(b) > maxPrivateBytes {
		err = fmt.Errorf("longer than %d bytes", maxPrivateBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", path, err)
	}
	return b, nil
}
