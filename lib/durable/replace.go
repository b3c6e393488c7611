package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replace writes data to the file at path, atomically and durably: at every moment, and after a crash at any moment,
// there is either the complete old file or the complete new one.
//
//	open(dir/.NAME.tmp-…, O_CREAT|O_EXCL)   a crash here leaves an empty temporary file beside the old one
//	write, fchmod, fsync                    a crash here leaves a temporary file beside the old one
//	rename(temporary, path)                 a crash here leaves the old file or the new one under the name, whole
//	fsync(dir)                              only now is the new name certain to survive
//
// Nothing reads a temporary file that a crash left; it may be removed at any time. If path is a symbolic link, the
// link itself is replaced. If only the last step fails, the error says so, and the new file already has the name.
func Replace(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-")
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return SyncDir(dir)
}

// SyncDir makes names that were created, renamed or removed in the directory durable. It is not an error if the file
// system cannot sync directories, as some network file systems: nothing more can be done.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
