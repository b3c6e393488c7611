// Package sibling is the one way to reach the other programs of clawsh, which lie beside our own executable: to start
// one as a stage (Spec, Chain), to ask it something (Query), to have it show something (Show), and to become it
// (HandOver).
//
// A sibling sees of the environment what it needs and no more: an allowlist, where the configuration is, and the
// variables that its paths name. The variables that hold provider keys go to claw-llm alone, and to claw-loop, which
// starts it.
package sibling

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"clawsh/lib/config"
	"clawsh/lib/process"
)

// Programs are our siblings, as they are started under one configuration.
type Programs struct {
	config  *config.Config
	environ []string
	stderr  *os.File
	session string
}

// New returns our siblings. environ is the environment to choose from; what they complain about goes to stderr, and
// nowhere if it is nil.
func New(cfg *config.Config, environ []string, stderr *os.File) *Programs {
	return &Programs{config: cfg, environ: environ, stderr: stderr}
}

// At says on which terminal's session conversations are held (terminal.Session).
func (p *Programs) At(session string) *Programs {
	p.session = session
	return p
}

// Place are the flags that tell claw-mem where a conversation is held.
func (p *Programs) Place() []string { return PlaceFlags(p.config, p.session) }

// PlaceFlags are the flags that tell claw-mem where a conversation is held: in the workspace, and on which terminal.
func PlaceFlags(cfg *config.Config, session string) []string {
	return []string{"--directory=" + cfg.WorkspaceDir, "--terminal=" + session}
}

// Spec is the command of one sibling that we drive, with the configuration handed on.
func (p *Programs) Spec(name string, args ...string) (process.Spec, error) {
	return p.spec(name, holdsKeys(name), args)
}

func (p *Programs) spec(name string, keys bool, args []string) (process.Spec, error) {
	path, err := find(name)
	if err != nil {
		return process.Spec{}, err
	}
	env := slices.DeleteFunc(p.passed(keys), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "CLAWSH_HOME" || name == "CLAWSH_CONFIG" || strings.HasPrefix(name, config.EnvWorkspace)
	})
	env = append(slices.Concat(env, p.config.HomeEnv(), p.config.WorkspaceEnv()), "CLAWSH_DRIVEN=1")
	return process.Spec{Name: name, Path: path, Args: args, Env: env, Stderr: p.stderr}, nil
}

// passed is what a sibling gets of our environment. A variable that holds a key is one whatever it is called.
func (p *Programs) passed(keys bool) []string {
	held := p.config.SecretEnv()
	if keys {
		return process.Environment(p.environ, append(config.PathEnv(p.config, nil), held...)...)
	}
	return slices.DeleteFunc(process.Environment(p.environ, config.PathEnv(p.config, nil)...), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(held, name)
	})
}

// holdsKeys tells whether a program owns the provider keys, or passes them on to the one that does.
func holdsKeys(name string) bool { return name == "claw-llm" || name == "claw-loop" }

func find(name string) (string, error) {
	path, err := process.Find(name)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return path, nil
}

// LLM is the command of the stage that asks models.
func (p *Programs) LLM() (process.Spec, error) { return p.Spec("claw-llm") }

// Memory is the command of the stage that stores the conversations of an agent.
func (p *Programs) Memory(agent string) (process.Spec, error) {
	return p.Spec("claw-mem", append([]string{"--agent", agent}, p.Place()...)...)
}

// Tools are the commands of the tool chain.
func (p *Programs) Tools() ([]process.Spec, error) {
	var specs []process.Spec
	for _, name := range []string{"claw-gate", "claw-exec", "claw-receipt"} {
		spec, err := p.Spec(name)
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// Chain starts stages joined by kernel pipes: the first reads from us and the last writes to us, unless their specs say
// otherwise. Files that a spec names stay the caller's to close.
func Chain(ctx context.Context, specs ...process.Spec) (stages []*process.Stage, err error) {
	var ours []*os.File
	defer func() {
		for _, f := range ours {
			f.Close()
		}
		if err != nil {
			for _, s := range stages {
				s.Signal(syscall.SIGKILL)
			}
			stages = nil
		}
	}()
	specs = slices.Clone(specs)
	for i := range len(specs) - 1 {
		r, w, err := os.Pipe()
		if err != nil {
			return stages, fmt.Errorf("start %s: %w", specs[i].Name, err)
		}
		ours = append(ours, r, w)
		specs[i].Stdout, specs[i+1].Stdin = w, r
	}
	for _, spec := range specs {
		s, err := process.Start(ctx, spec)
		if err != nil {
			return stages, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// HandOver makes this process the sibling, by what a person typed: words are its arguments. It returns only if that
// fails. The configuration says which variables it gets beside the usual ones; of one that cannot be read (unread), the
// sibling says why.
func HandOver(name string, words, environ []string, cfg *config.Config, unread error) error {
	path, err := find(name)
	if err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{name}, words...), typed(name, environ, cfg, unread))
	return fmt.Errorf("start %s: %w", name, err)
}

// typed is the environment of a sibling that a person has started, by way of us.
func typed(name string, environ []string, cfg *config.Config, unread error) []string {
	if unread != nil {
		return process.Environment(environ, config.PathEnv(nil, unread)...)
	}
	return New(cfg, environ, nil).passed(holdsKeys(name))
}
