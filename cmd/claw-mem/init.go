package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/memory"
)

type initResult struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

func (r initResult) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "memory in %s (created: %t)\n", r.Path, r.Created)
	return err
}

// initialise makes the database; clawsh init runs it, since no other program links SQLite.
func initialise() command.Command {
	return command.Command{Name: "init", Hidden: true, Summary: "create the memory if there is none", Example: "claw-mem init",
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			_, err = os.Stat(cfg.Memory.Path)
			r := initResult{cfg.Memory.Path, errors.Is(err, fs.ErrNotExist)}
			return r, opened(c, memory.Options{}, func(*config.Config, *memory.Store) error { return nil })
		}}
}
