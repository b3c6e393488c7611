// Package onboard sets clawsh up: the home, what the stages keep there, whom to ask for answers, and where the agent
// may work.
package onboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/sibling"
)

// Home is what there is of a home: what was made, and what was there already.
type Home struct {
	Dir       string   `json:"home"`
	Config    string   `json:"config"`
	Workspace string   `json:"workspace"`
	Created   []string `json:"created"`
	Kept      []string `json:"kept"`
	Adopted   int      `json:"adopted,omitzero"` // receipts that are older than their keys
}

// workspace makes the fixed workspace, whatever is in force where init runs. With workspace = "here" there is none to
// be made.
func (r *Home) workspace(cfg *config.Config) error {
	if r.Workspace = cfg.Workspace.Fixed; cfg.Workspace.Mode == config.FromHere {
		r.Workspace = config.FromHere
		return nil
	}
	if cfg.Workspace.From == config.FromConfig && cfg.CheckWorkspace() != nil {
		return cfg.CheckWorkspace()
	}
	return r.directory(r.Workspace, 0o755)
}

// SetUp makes what is missing of a home and touches nothing that is there.
func SetUp(ctx context.Context, environ []string, p config.Paths) (*Home, error) {
	r := &Home{Dir: p.Home, Config: p.File, Created: []string{}, Kept: []string{}}
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
	return r, r.stages(ctx, environ, cfg)
}

// stages has the stages make what only they may touch.
func (r *Home) stages(ctx context.Context, environ []string, cfg *config.Config) error {
	s := sibling.New(cfg, environ, os.Stderr)
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

func (r *Home) note(path string, created bool) {
	if created {
		r.Created = append(r.Created, path)
		return
	}
	r.Kept = append(r.Kept, path)
}

func (r *Home) directory(path string, mode fs.FileMode) error {
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

func (r *Home) file(path string, data []byte, mode fs.FileMode) error {
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
