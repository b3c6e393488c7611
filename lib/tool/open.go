package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openRead opens a regular file. Symbolic links that stay in the workspace are followed.
func (w *workspace) openRead(ctx context.Context, rel string) (*os.File, fs.FileInfo, error) {
	if err := w.check(ctx, GuardOpenRead, rel); err != nil {
		return nil, nil, err
	}
	info, err := w.root.Stat(rel)
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, nil, why(err)
	}
	// The file may have been replaced since: O_NONBLOCK keeps a FIFO from blocking, and the descriptor is checked
	// again.
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, why(err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, why(err)
	}
	return f, info, nil
}

// writable tells whether a path may be written to, and what is there now: nil if nothing is.
func (w *workspace) writable(ctx context.Context, rel string) (fs.FileInfo, error) {
	if err := w.check(ctx, GuardOpenWrite, rel); err != nil {
		return nil, err
	}
	info, err := w.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, why(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("it is a symbolic link: write to the file itself")
	}
	return info, mayReplace(info)
}

func mayReplace(info fs.FileInfo) error {
	if err := regular(info); err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Nlink > 1 {
		return errors.New("has other hard links, which may lie outside the workspace")
	}
	if info.Mode()&0o200 == 0 {
		return errors.New("is read-only")
	}
	return nil
}

// openWrite opens a regular file to write in place, made if flag has O_CREATE. Links are refused.
func (w *workspace) openWrite(ctx context.Context, rel string, flag int, perm fs.FileMode) (*os.File, error) {
	before, err := w.writable(ctx, rel)
	if err != nil {
		return nil, err
	}
	open := flag&^os.O_TRUNC | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	if before == nil && flag&os.O_CREATE != 0 {
		open |= os.O_EXCL
	}
	f, err := w.root.OpenFile(rel, open, perm)
	if err != nil {
		return nil, why(err)
	}
	after, err := f.Stat()
	switch {
	case err != nil:
	case before != nil && !os.SameFile(before, after):
		err = errors.New("was replaced while it was opened")
	default:
		err = mayReplace(after)
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, why(err)
	}
	return f, nil
}

// openDir opens a directory to list it.
func (w *workspace) openDir(ctx context.Context, rel string) (*os.File, error) {
	if err := w.check(ctx, GuardReadDir, rel); err != nil {
		return nil, err
	}
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, why(err)
	}
	return f, nil
}

// regular refuses what is not a regular file, and says what it is.
func regular(info fs.FileInfo) error {
	what := ""
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		what = "directory"
	case m&fs.ModeNamedPipe != 0:
		what = "named pipe"
	case m&fs.ModeSocket != 0:
		what = "socket"
	case m&fs.ModeDevice != 0:
		what = "device"
	case m&fs.ModeSymlink != 0:
		what = "symbolic link"
	default:
		what = "special file"
	}
	return fmt.Errorf("it is a %s, not a regular file", what)
}
