package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
)

// initResult lists what init made, and what was there already.
type initResult struct {
	Home      string   `json:"home"`
	Config    string   `json:"config"`
	Workspace string   `json:"workspace"`
	Created   []string `json:"created"`
	Kept      []string `json:"kept"`
	Adopted   int      `json:"adopted,omitzero"` // receipts that are older than their keys
	verbose   bool
}

func (r initResult) WriteText(w io.Writer) error {
	if r.verbose {
		for _, p := range r.Created {
			fmt.Fprintf(w, "created  %s\n", p)
		}
		for _, p := range r.Kept {
			fmt.Fprintf(w, "kept     %s\n", p)
		}
	}
	what := "is already set up; nothing changed"
	switch {
	case len(r.Kept) == 0 || slices.Contains(r.Created, r.Home):
		what = "is set up"
	case len(r.Created) > 0:
		what = "is set up; created what was missing: " + strings.Join(r.Created, ", ")
	}
	fmt.Fprintf(w, "clawsh %s: home %s, workspace %s\n", what, r.Home, r.Workspace)
	if r.Adopted > 0 {
		fmt.Fprintf(w, "adopted %s without macs: that they are what was written, only their chain says\n", spelling.Count(r.Adopted, "receipt"))
	}
	_, err := fmt.Fprintf(w, "next: clawsh onboard connects a model; clawsh \"What files are here?\" asks the built-in mock provider\n")
	return err
}

func initialise() command.Command {
	verbose := false
	return command.Command{Name: "init", Summary: "create clawsh's home: configuration, workspace, keys and memory; safe to run again",
		Example: "clawsh init",
		Flags:   func(f *pflag.FlagSet) { f.BoolVarP(&verbose, "verbose", "v", false, "list every file and directory") },
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			r, err := setUp(ctx, c, p)
			if err != nil {
				return nil, err
			}
			r.verbose = verbose
			return r, nil
		}}
}

// workspace makes the fixed workspace, whatever is in force where init runs. With workspace = "here" there is none to be made.
func (r *initResult) workspace(cfg *config.Config) error {
	if r.Workspace = cfg.Workspace.Fixed; cfg.Workspace.Mode == config.FromHere {
		r.Workspace = config.FromHere
		return nil
	}
	if cfg.Workspace.From == config.FromConfig && cfg.CheckWorkspace() != nil {
		return cfg.CheckWorkspace()
	}
	return r.directory(r.Workspace, 0o755)
}

// setUp makes what is missing and touches nothing that is there.
func setUp(ctx context.Context, c *command.Call, p config.Paths) (*initResult, error) {
	r := &initResult{Home: p.Home, Config: p.File, Created: []string{}, Kept: []string{}}
	if err := r.directory(p.Home, 0o700); err != nil {
		return nil, err
	}
	if err := config.CheckHome(p, nil); err != nil {
		return nil, err
	}
	if err := r.file(p.File, config.Template(), 0o600); err != nil {
		return nil, err
	}
	cfg, err := config.Load(p)
	if err != nil {
		return nil, err
	}
	if err := r.workspace(cfg); err != nil {
		return nil, err
	}
	agent, err := cfg.AgentDir(cfg.DefaultAgent)
	if err != nil {
		return nil, err
	}
	for _, dir := range []struct {
		path string
		mode fs.FileMode
	}{{agent, 0o700}, {filepath.Join(agent, "sessions"), 0o700}, {filepath.Join(p.Home, "skills"), 0o700},
		{filepath.Join(p.Home, "plugins"), 0o700}} {
		if err := r.directory(dir.path, dir.mode); err != nil {
			return nil, err
		}
	}
	if err := r.file(filepath.Join(agent, "soul.md"), []byte(config.DefaultSoul), 0o600); err != nil {
		return nil, err
	}
	return r, r.stages(ctx, c, cfg)
}

// stages has the stages make what only they may touch.
func (r *initResult) stages(ctx context.Context, c *command.Call, cfg *config.Config) error {
	s := sibling.New(cfg, c.Environ, os.Stderr)
	for _, step := range []struct {
		stage   string
		command []string
		made    string
	}{{"claw-gate", []string{"keys"}, cfg.PermitKeyPath()}, {"claw-exec", []string{"keys"}, cfg.SealKeyDir()},
		{"claw-receipt", []string{"keys", "--create"}, cfg.ReceiptKeysDir()},
		{"claw-mem", []string{"init"}, cfg.Memory.Path}} {
		var done struct {
			Created bool `json:"created"`
			Adopted int  `json:"adopted"`
		}
		if err := s.Query(ctx, &done, step.stage, step.command...); err != nil {
			return fmt.Errorf("create %s: %w", step.made, err)
		}
		r.note(step.made, done.Created)
		if done.Created {
			r.Adopted += done.Adopted
		}
	}
	return nil
}

func (r *initResult) note(path string, created bool) {
	if created {
		r.Created = append(r.Created, path)
		return
	}
	r.Kept = append(r.Kept, path)
}

func (r *initResult) directory(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("create directory %s: a file is in the way", path)
	}
	r.note(path, err != nil)
	if err == nil {
		return nil
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	return nil
}

func (r *initResult) file(path string, data []byte, mode fs.FileMode) error {
	_, err := os.Lstat(path)
	if err == nil {
		r.note(path, false)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create file: %w", err)
	}
	r.note(path, true)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	return durable.Replace(path, data, mode)
}
