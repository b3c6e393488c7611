package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"clawsh/lib/card"
	"clawsh/lib/spelling"
)

// writeFile writes a text file of the workspace. What is overwritten or created is either the old or the new file,
// whole, for every reader and after every crash. What is appended is one write at the end of the file, so that other
// programs can append to it too; a crash may leave a part of it.
func writeFile(ctx context.Context, a card.WriteArgs, env *Env) Result {
	most := env.Config.Limits.MaxFileBytes
	if len(a.Content) > most {
		return failf("write %q: the content has %d bytes, the limit is %d: write it in parts with mode append", a.Path,
			len(a.Content), most)
	}
	w, err := openFiles(env)
	if err != nil {
		return failf("%v", err)
	}
	defer w.close()
	rel, err := w.rel(a.Path)
	if err == nil {
		err = w.write(ctx, rel, a)
	}
	if err != nil {
		return failed(err, "write %q: %v", a.Path)
	}
	r := Result{Success: true}
	r.setText(fmt.Sprintf("wrote %s to %s", spelling.Count(len(a.Content), "byte"), quoteName(w.name(rel))), env)
	return r
}

func (w *workspace) write(ctx context.Context, rel string, a card.WriteArgs) error {
	old, err := w.writable(ctx, rel)
	if err != nil {
		return err
	}
	if err := w.root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return fmt.Errorf("make its directory: %w", why(err))
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	data := []byte(a.Content)
	switch a.Mode {
	case "create":
		if old != nil {
			return errors.New("it exists already")
		}
		return w.replace(rel, data, nil, w.linkNew)
	case "append":
		return w.append(ctx, rel, data)
	}
	return w.replace(rel, data, old, w.root.Rename)
}

// replace writes a temporary file beside the target and puts it in its place. A crash leaves the temporary file at
// most.
func (w *workspace) replace(rel string, data []byte, old fs.FileInfo, put func(from, to string) error) (err error) {
	temp := filepath.Join(filepath.Dir(rel), ".clawsh-"+rand.Text()+".tmp")
	f, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return why(err)
	}
	defer func() {
		if err != nil {
			w.root.Remove(temp)
		}
	}()
	_, err = f.Write(data)
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return why(err)
	}
	if err := put(temp, rel); err != nil {
		return why(err)
	}
	return w.syncDir(filepath.Dir(rel))
}

// linkNew gives the file its name only if nothing has it. Where there are no hard links, a file that appears at the
// same moment is overwritten.
func (w *workspace) linkNew(from, to string) error {
	err := w.root.Link(from, to)
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS):
		return w.root.Rename(from, to)
	case err != nil:
		return err
	}
	return w.root.Remove(from)
}

func (w *workspace) append(ctx context.Context, rel string, data []byte) error {
	f, err := w.openWrite(ctx, rel, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	n, err := f.Write(data)
	if err != nil {
		err = fmt.Errorf("only %d of %s were written: %w", n, spelling.Count(len(data), "byte"), why(err))
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return w.syncDir(filepath.Dir(rel))
}

func (w *workspace) syncDir(rel string) error {
	d, err := w.root.Open(rel)
	if err != nil {
		return why(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("sync its directory: %w", why(err))
	}
	return nil
}
