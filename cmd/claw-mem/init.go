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
	"clawsh/lib/confine"
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
	existed := false
	return command.Command{Name: "init", Hidden: true, Summary: "create the memory if there is none",
		Example: "claw-mem init",
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			if cfg != nil {
				_, err := os.Stat(cfg.Memory.Path)
				existed = !errors.Is(err, fs.ErrNotExist)
			}
			return storing(c, cfg) // makes it
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			r := initResult{cfg.Memory.Path, !existed}
			return r, opened(c, memory.Options{Kept: true}, func(*config.Config, *memory.Store) error { return nil })
		}}
}
