package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/loop"
)

// initResult lists what init made, and what was there already.
type initResult struct {
	Home      string   `json:"home"`
	Config    string   `json:"config"`
	Workspace string   `json:"workspace"`
	Created   []string `json:"created"`
	Kept      []string `json:"kept"`
	Adopted   int      `json:"adopted,omitzero"` // receipts that are older than their keys
}

func (r initResult) WriteText(w io.Writer) error {
	for _, p := range r.Created {
		fmt.Fprintf(w, "created  %s\n", p)
	}
	for _, p := range r.Kept {
		fmt.Fprintf(w, "kept     %s\n", p)
	}
	if r.Adopted > 0 {
		fmt.Fprintf(w, "\nadopted %d receipts without macs: that they are what was written, only their chain says\n", r.Adopted)
	}
	_, err := fmt.Fprintf(w, "\nReady. Try: clawsh \"What files are here?\"\nConnect a model: clawsh onboard, or edit %s\n", r.Config)
	return err
}

func initialise() command.Command {
	return command.Command{Name: "init", Summary: "create clawsh's home: configuration, workspace, keys, memory; harmless twice",
		Example: "clawsh init",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			r, err := setUp(ctx, c, p)
			if err != nil {
				return nil, err
			}
			return r, nil
		}}
}

// setUp makes what is missing and touches nothing that is there.
func setUp(ctx context.Context, c *command.Call, p config.Paths) (*initResult, error) {
	r := &initResult{Home: p.Home, Config: p.File, Created: []string{}, Kept: []string{}}
	if err := r.directory(p.Home, 0o700); err != nil {
		return nil, err
	}
	if err := config.CheckHome(p.Home); err != nil {
		return nil, err
	}
	if err := r.file(p.File, config.Template(), 0o600); err != nil {
		return nil, err
	}
	cfg, err := config.Load(p)
	if err != nil {
		return nil, err
	}
	r.Workspace = cfg.WorkspaceDir
	agent, err := cfg.AgentDir(cfg.DefaultAgent)
	if err != nil {
		return nil, err
	}
	for _, dir := range []struct {
		path string
		mode fs.FileMode
	}{{cfg.WorkspaceDir, 0o755}, {agent, 0o700}, {filepath.Join(agent, "sessions"), 0o700}, {filepath.Join(p.Home, "skills"), 0o700},
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
	s := loop.NewSiblings(cfg, c.Environ, os.Stderr)
	for _, step := range []struct {
		stage   string
		command []string
		made    string
	}{{"claw-gate", []string{"keys"}, cfg.PermitKeyPath()}, {"claw-receipt", []string{"keys", "--create"}, cfg.ReceiptKeysDir()},
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
