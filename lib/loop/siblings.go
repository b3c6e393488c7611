package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// Siblings starts the stages that lie beside our own executable, each with the environment that it needs and no more:
// the variables that hold provider keys go to claw-llm alone.
type Siblings struct {
	config  *config.Config
	environ []string
	stderr  *os.File
	session string
}

// NewSiblings returns a Starter for the given configuration. environ is the environment to choose from.
func NewSiblings(cfg *config.Config, environ []string, stderr *os.File) *Siblings {
	return &Siblings{config: cfg, environ: environ, stderr: stderr}
}

// At says on which terminal's session conversations are held (terminal.Session).
func (s *Siblings) At(session string) *Siblings {
	s.session = session
	return s
}

// Place are the flags that tell claw-mem where a conversation is held.
func (s *Siblings) Place() []string { return PlaceFlags(s.config, s.session) }

// PlaceFlags are the flags that tell claw-mem where a conversation is held: in the workspace, and on which terminal.
func PlaceFlags(cfg *config.Config, session string) []string {
	return []string{"--directory=" + cfg.WorkspaceDir, "--terminal=" + session}
}

// Spec is the command of one sibling, with the configuration handed on and secrets held back.
func (s *Siblings) Spec(name string, args ...string) (process.Spec, error) {
	return s.spec(name, nil, args)
}

// WithSecrets is Spec for the programs that own the provider keys, or pass them on to the one that does.
func (s *Siblings) WithSecrets(name string, args ...string) (process.Spec, error) {
	return s.spec(name, s.config.SecretEnv(), args)
}

func (s *Siblings) spec(name string, secrets, args []string) (process.Spec, error) {
	path, err := process.Find(name)
	if err != nil {
		return process.Spec{}, fmt.Errorf("find %s: %w", name, err)
	}
	held := s.config.SecretEnv()
	env := slices.DeleteFunc(process.Environment(s.environ, slices.Concat(secrets, config.PathEnv(s.config, nil))...), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "CLAWSH_HOME" || name == "CLAWSH_CONFIG" || strings.HasPrefix(name, config.EnvWorkspace) || slices.Contains(held, name) && !slices.Contains(secrets, name)
	})
	env = append(env, "CLAWSH_HOME="+s.config.Home, "CLAWSH_DRIVEN=1")
	env = append(env, s.config.WorkspaceEnv()...)
	if s.config.Found() {
		env = append(env, "CLAWSH_CONFIG="+s.config.File)
	}
	return process.Spec{Name: name, Path: path, Args: args, Env: env, Stderr: s.stderr}, nil
}

// LLM implements Starter.
func (s *Siblings) LLM() (process.Spec, error) { return s.WithSecrets("claw-llm") }

// Memory implements Starter.
func (s *Siblings) Memory(agent string) (process.Spec, error) {
	return s.Spec("claw-mem", append([]string{"--agent", agent}, s.Place()...)...)
}

// Tools implements Starter.
func (s *Siblings) Tools() ([]process.Spec, error) {
	var specs []process.Spec
	for _, name := range []string{"claw-gate", "claw-exec", "claw-receipt"} {
		spec, err := s.Spec(name)
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// Query runs a sibling's command with --output-format json and decodes the data of its envelope into v. A failure that
// the command reports is returned as an *envelope.Error.
func (s *Siblings) Query(ctx context.Context, v any, name string, args ...string) error {
	return s.query(ctx, v, name, nil, args)
}

// QueryWithSecrets is Query for claw-llm, with the provider keys.
func (s *Siblings) QueryWithSecrets(ctx context.Context, v any, name string, args ...string) error {
	return s.query(ctx, v, name, s.config.SecretEnv(), args)
}

func (s *Siblings) query(ctx context.Context, v any, name string, secrets, args []string) error {
	end := slices.Index(args, "--") // what follows are arguments, however they begin
	if end < 0 {
		end = len(args)
	}
	spec, err := s.spec(name, secrets, slices.Insert(slices.Clone(args), end, "--output-format", "json"))
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	spec.Stdin = null
	stage, err := process.Start(ctx, spec)
	if err != nil {
		return err
	}
	out, readErr := io.ReadAll(io.LimitReader(stage.Stdout, record.MaxLineBytes))
	waitErr := stage.Wait()
	if readErr != nil {
		return fmt.Errorf("read what %s says: %w", name, readErr)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if sig := stage.Terminated(); sig != 0 { // as when Ctrl-C reaches a program before it can take it
		return envelope.Cancelled(sig)
	}
	return decodeEnvelope(stage.Describe(), bytes.TrimSpace(out), v, waitErr)
}

func decodeEnvelope(who string, out []byte, v any, waitErr error) error {
	if len(out) == 0 && waitErr != nil {
		return errors.New(who + ", before it answered") // not waitErr: its exit code is not ours
	}
	r, err := envelope.Decode(out)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: unusable answer: %w", who, err), waitErr)
	}
	if r.Failed != nil {
		return r.Failed
	}
	return record.DecodeOpen(r.Data, v)
}
