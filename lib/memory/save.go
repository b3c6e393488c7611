package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// Save is a backup to a file of a person: it is written to Partial, beside the file that it becomes.
type Save struct {
	Replace bool // a file of that name, if it is a database
	Path    string
	Partial string
}

// Name says which file it becomes, and where it is written until then.
func (b *Save) Name(arg string) error {
	abs, err := filepath.Abs(arg)
	if err != nil {
		return fmt.Errorf("back up to %s: %w", arg, err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "not_found", "back up to %s: its directory: %w", arg, err)
	}
	b.Path = filepath.Join(dir, filepath.Base(abs))
	if b.Partial == "" {
		b.Partial = filepath.Join(dir, record.NewID(".clawsh-backup-"))
	}
	return nil
}

// refuse says why the name cannot be taken.
func (b *Save) refuse(source string) error {
	info, err := os.Lstat(b.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", b.Path, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if own, err := os.Stat(source + suffix); err == nil && os.SameFile(info, own) {
			return envelope.Errorf(envelope.ExitUsage, "usage", "back up to %s: that is the memory itself", b.Path)
		}
	}
	if info.IsDir() {
		return envelope.Errorf(envelope.ExitUsage, "usage", "back up to %s: it is a directory; name a file in it",
			b.Path)
	}
	if !b.Replace {
		return exists(b.Path)
	}
	if info.Mode().Type() == fs.ModeSymlink || isDatabase(b.Path, info) {
		return nil
	}
	return envelope.Errorf(envelope.ExitUsage, "usage", "back up to %s: it is not a database, so it was not replaced",
		b.Path).
		WithHint("choose another name, or remove it first")
}

// isDatabase tells whether a file may be an older backup: a name of a file that is something else, a receipt log
// perhaps, was mistyped.
func isDatabase(path string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return info.Mode().IsRegular()
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const magic = "SQLite format 3\x00"
	var head [len(magic)]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == magic
}

func exists(path string) error {
	return envelope.Errorf(envelope.ExitError, "exists", "back up to %s: it exists", path).
		WithHint("choose another name, or use --force to replace it")
}

// Write backs the memory up, and returns how long the file is. It gets its name only when it is whole, durable and
// checked.
func (b *Save) Write(s *Store) (bytes int64, err error) {
	defer os.Remove(b.Partial)
	if err := b.refuse(s.path); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(b.Partial, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("back up to %s: %w", b.Path, err)
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	if err := s.Backup(b.Partial); err != nil {
		return 0, err
	}
	info, err := os.Stat(b.Partial)
	if err != nil {
		return 0, err
	}
	if b.Replace {
		err = os.Rename(b.Partial, b.Path)
	} else if err = os.Link(b.Partial, b.Path); errors.Is(err, fs.ErrExist) {
		return 0, exists(b.Path) // since we looked
	}
	if err != nil {
		return 0, fmt.Errorf("back up to %s: %w", b.Path, err)
	}
	return info.Size(), durable.SyncDir(filepath.Dir(b.Path))
}
