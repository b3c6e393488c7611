package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/memory"
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

func backup() command.Command {
	var b memory.Save
	return command.Command{Name: "backup", Offered: []string{"memory backup"}, Args: "FILE", Min: 1, Max: 1,
		Summary: "back up the memory to a file, even while it is in use",
		Long: `FILE is a consistent snapshot, readable only by you, synced to disk and checked. To restore it, stop clawsh, copy FILE
over the memory, and remove the memory's -wal and -shm files. An existing FILE is replaced only with --force, and only
if it is a database.`,
		Example: "claw-mem backup memory-backup.sqlite\nclaw-mem backup --force /backup/memory.sqlite",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&b.Replace, "force", false, "replace FILE if it is a database")
		},
		// The right is to the file that is written first, and to give it its name.
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			a := looking(c, cfg)
			if len(c.Args) == 1 && b.Name(c.Args[0]) == nil {
				a.Own = append(a.Own, b.Partial)
				a.Read = append(a.Read, b.Path) // it is looked at before it is replaced
				a.Names = append(a.Names, filepath.Dir(b.Path))
			}
			return a
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			if err := b.Name(c.Args[0]); err != nil {
				return nil, err
			}
			defer os.Remove(b.Partial) // the right has made it
			r := backupResult{Path: b.Path}
			err := reading(c, func(_ *config.Config, s *memory.Store) (err error) {
				r.Bytes, err = b.Write(s)
				return err
			})
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}
