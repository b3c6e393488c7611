package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type backupResult struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

func (r backupResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s, checked\n", terminal.Escape(r.Path), spelling.Count(r.Bytes, "byte"))
	return err
}

// backupJob is one backup: it is written to a file beside the one that it becomes.
type backupJob struct {
	force         bool
	path, partial string
}

func backup() command.Command {
	var b backupJob
	return command.Command{Name: "backup", Offered: []string{"memory backup"}, Args: "FILE", Min: 1, Max: 1, Summary: "back up the memory to a file, even while it is in use",
		Long: `FILE is a consistent snapshot, readable only by you, synced to disk and checked. To restore it, stop clawsh, copy FILE
over the memory, and remove the memory's -wal and -shm files. An existing FILE is replaced only with --force, and only
if it is a database.`,
		Example: "claw-mem backup memory-backup.sqlite\nclaw-mem backup --force /backup/memory.sqlite",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&b.force, "force", false, "replace FILE if it is a database")
		},
		Access: b.access,
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if err := b.name(c.Args[0]); err != nil {
				return nil, err
			}
			defer os.Remove(b.partial)
			r := backupResult{Path: b.path}
			err := reading(c, func(cfg *config.Config, s *memory.Store) error {
				if err := b.refuse(cfg.Memory.Path); err != nil {
					return err
				}
				return b.write(s, &r)
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// access makes the file that is written to; the right is to that one, and to give it its name.
func (b *backupJob) access(c *command.Call, cfg *config.Config) confine.Access {
	a := looking(c, cfg)
	if len(c.Args) == 1 && b.name(c.Args[0]) == nil {
		a.Own = append(a.Own, b.partial)
		a.Read = append(a.Read, b.path) // it is looked at before it is replaced
		a.Names = append(a.Names, filepath.Dir(b.path))
	}
	return a
}

func (b *backupJob) name(arg string) error {
	abs, err := filepath.Abs(arg)
	if err != nil {
		return fmt.Errorf("back up to %s: %w", arg, err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "not_found", "back up to %s: its directory: %w", arg, err)
	}
	b.path = filepath.Join(dir, filepath.Base(abs))
	if b.partial == "" {
		b.partial = filepath.Join(dir, record.NewID(".clawsh-backup-"))
	}
	return nil
}

// refuse says why the name cannot be taken.
func (b *backupJob) refuse(source string) error {
	info, err := os.Lstat(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", b.path, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if own, err := os.Stat(source + suffix); err == nil && os.SameFile(info, own) {
			return envelope.Errorf(envelope.ExitUsage, "usage", "back up to %s: that is the memory itself", b.path)
		}
	}
	if info.IsDir() {
		return envelope.Errorf(envelope.ExitUsage, "usage", "back up to %s: it is a directory; name a file in it", b.path)
	}
	if !b.force {
		return exists(b.path)
	}
	if info.Mode().Type() == fs.ModeSymlink || isDatabase(b.path, info) {
		return nil
	}
	return envelope.Errorf(envelope.ExitUsage, "usage", "back up to %s: it is not a database, so it was not replaced", b.path).
		WithHint("choose another name, or remove it first")
}

// isDatabase tells whether a file may be an older backup: a name of a file that is something else, a log of receipts perhaps,
// was mistyped.
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
	return envelope.Errorf(envelope.ExitError, "exists", "back up to %s: it exists", path).WithHint("choose another name, or use --force to replace it")
}

// write gives the copy its name only when it is whole, durable and checked.
func (b *backupJob) write(s *memory.Store, r *backupResult) error {
	f, err := os.OpenFile(b.partial, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("back up to %s: %w", b.path, err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.Backup(b.partial); err != nil {
		return err
	}
	info, err := os.Stat(b.partial)
	if err != nil {
		return err
	}
	r.Bytes = info.Size()
	if b.force {
		err = os.Rename(b.partial, b.path)
	} else if err = os.Link(b.partial, b.path); errors.Is(err, fs.ErrExist) {
		return exists(b.path) // since we looked
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", b.path, err)
	}
	return durable.SyncDir(filepath.Dir(b.path))
}
