package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// Bounds of what the interpreter may do in this process. Programs that it starts are not bound by them.
const (
	maxCalls  = 50_000 // simple commands in all
	maxFrames = 4_000  // of the Go stack: some 500 nested calls of functions
)

// shellTool runs a command in the workspace. It is parsed once, and run by the interpreter that belongs to the parser: what
// was judged is what runs. Programs start in sessions of their own and see an environment that is made for them, with a
// home directory that lives as long as the command. What the interpreter opens and lists itself stays in the workspace.
type shellTool struct{}

// Name implements Tool.
func (shellTool) Name() string { return "shell" }

// Description implements Tool.
func (shellTool) Description() string {
	return "Run a bash command in the workspace; returns stdout and stderr together. No stdin, no background jobs."
}

// Parameters implements Tool.
func (shellTool) Parameters() record.Raw { return shellParameters("") }

// ParametersWithin is Parameters with the times that a call may ask for.
func (shellTool) ParametersWithin(l config.Limits) record.Raw {
	return shellParameters(`,"description":"default ` + number(l.ShellTimeoutS) + `, at most ` + number(l.ShellTimeoutMaxS) + `"`)
}

func shellParameters(times string) record.Raw {
	return record.Raw(`{"type":"object","properties":{"command":{"type":"string"},"timeout_s":{"type":"number"` + times + `}},` +
		`"required":["command"],"additionalProperties":false}`)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// NoNetwork is why no command gets a network.
const NoNetwork = "commands have no network: there is no proxy yet that could let one reach single hosts; to read a web page, call the http tool"

// shellTime is the time that a call asks for, if it may, or the usual one.
func shellTime(args record.Raw, l config.Limits) time.Duration {
	var a struct {
		TimeoutS *float64 `json:"timeout_s"`
	}
	if record.DecodeOpen(args, &a) != nil || a.TimeoutS == nil || !(*a.TimeoutS > 0 && *a.TimeoutS <= l.ShellTimeoutMaxS) {
		return seconds(l.ShellTimeoutS)
	}
	return seconds(*a.TimeoutS)
}

// Invoke implements Tool.
func (shellTool) Invoke(ctx context.Context, args record.Raw, env *Env) Result {
	var a struct {
		Command  string             `json:"command"`
		TimeoutS *float64           `json:"timeout_s"`
		Network  *[]string          `json:"network"`
		Sandbox  *config.SandboxAsk `json:"sandbox"`
	}
	if err := decode(args, &a); err != nil {
		return failf("%v", err)
	}
	if most := env.Config.Limits.ShellTimeoutMaxS; a.TimeoutS != nil && !(*a.TimeoutS > 0 && *a.TimeoutS <= most) {
		return failf("invalid arguments: want timeout_s above 0 and up to %s", number(most))
	}
	if a.Network != nil {
		return failf("invalid arguments: %s", NoNetwork)
	}
	if err := a.Sandbox.Check(); err != nil {
		return failf("invalid arguments: %v", err)
	}
	file, err := parseCommand(a.Command)
	if err != nil {
		return failf("run command: %v", err)
	}
	s, err := newShell(ctx, env, a.Sandbox)
	if err != nil {
		return failf("run command: %v", err)
	}
	defer s.close()
	return s.run(file)
}

// shell is one running command.
type shell struct {
	env   *Env
	ctx   context.Context
	stop  context.CancelCauseFunc
	ws    *workspace
	home  *privateHome
	vars  *environment
	out   *output
	null  *os.File
	calls atomic.Int64

	ask config.SandboxAsk // what the call wants of the sandbox

	mu          sync.Mutex
	roots       map[string]*workspace // read roots that were looked into
	engine      string                // of the sandbox that its programs ran in
	confinement *record.Confinement
}

func newShell(ctx context.Context, env *Env, ask *config.SandboxAsk) (s *shell, err error) {
	if ask == nil {
		ask = &config.SandboxAsk{}
	}
	s = &shell{env: env, ask: *ask, out: newOutput(env.Config.Limits.MaxOutputBytes)}
	s.out.clean = env.Secrets.NewStream()
	s.ctx, s.stop = context.WithCancelCause(ctx)
	opened := s
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	if s.ws, err = openWorkspace(env); err != nil {
		return nil, err
	}
	s.ask.Deterministic = s.ask.Deterministic || env.Config.Sandbox.Deterministic
	s.ws.staged = s.ws.staged || s.ask.Layout == "staged"
	if s.ws.staged {
		for _, name := range config.Stages() {
			if err := s.ws.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("make %s/ of the staged workspace: %w", name, why(err))
			}
		}
	}
	if s.home, err = env.Scratch.take(); err != nil {
		return nil, err
	}
	// A nil stdin would do for programs, but crashes builtins that read.
	if s.null, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	s.home.seen = s.home.dir
	if env.HomeSeen != "" {
		s.home.seen = env.HomeSeen
	}
	s.vars = newEnvironment(env, s.ws, s.home.seen, s.ask.Deterministic)
	return s, nil
}

func (s *shell) close() {
	s.stop(context.Canceled)
	if s.env.Exclusive {
		process.KillDescendants(os.Getpid())
	}
	if s.ws != nil {
		s.ws.close()
	}
	for _, w := range s.roots {
		w.close()
	}
	if s.home != nil {
		s.env.Scratch.give(s.home)
	}
	if s.null != nil {
		s.null.Close()
	}
}

func (s *shell) run(file *syntax.File) (r Result) {
	defer watchMemory(s.stop)()
	defer func() {
		if p := recover(); p != nil {
			if s.env.Log != nil {
				s.env.Log.Error("shell interpreter panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			r = s.result(fmt.Errorf("internal error in the interpreter: %v", p))
		}
	}()
	runner, err := s.runner()
	if err == nil {
		err = runner.Run(s.ctx, file)
	}
	return s.result(err)
}

// runner makes the interpreter. It opens files in its directory for temporary files past all handlers, so it is first told
// a directory that cannot exist, and then gets the environment with the real one.
func (s *shell) runner() (*interp.Runner, error) {
	r, err := interp.New(
		interp.Env(expand.ListEnviron("TMPDIR=/dev/null/none", "HOME=/")),
		interp.Dir(s.ws.real),
		interp.StdIO(s.null, s.out, s.out),
		interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(s.open),
		interp.StatHandler(s.stat),
		interp.AccessHandler(s.access),
		interp.ReadDirHandler2(s.readDir),
	)
	if err != nil {
		return nil, err
	}
	r.Reset()
	if err := interp.Env(expand.ListEnviron(s.vars.list...))(r); err != nil {
		return nil, err
	}
	r.Reset()
	return r, nil
}

// deny ends the whole command: what was refused is not to be tried in another way by the rest of it.
func (s *shell) deny(what string, err error) error {
	return s.halt(refusedError{fmt.Errorf("denied: %s: %w", what, err)})
}

func (s *shell) halt(err error) error {
	s.stop(err)
	return err
}

func (s *shell) result(err error) Result {
	s.mu.Lock()
	r := Result{Meta: record.ResultMeta{Sandbox: s.engine, Confinement: s.confinement}}
	s.mu.Unlock()
	if r.Meta.Sandbox == "" {
		r.Meta.Sandbox = record.SandboxInterpreter
	}
	s.out.into(&r, s.env.Result)
	// The reason why the command was stopped counts, not what became of it then.
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	var status interp.ExitStatus
	var refused refusedError
	var none NoSandboxError
	switch {
	case errors.As(err, &none):
		r.Error, r.Meta.Sandbox = none.Error(), record.SandboxUnavailable
	case err == nil:
		r.Success, r.Meta.ExitCode = true, new(int)
	case errors.As(err, &refused):
		r.Error, r.Denied = refused.Error(), true
	case s.ctx.Err() != nil:
		r.interrupted(err)
	case errors.As(err, &status):
		code := int(status)
		r.Meta.ExitCode, r.Error = &code, fmt.Sprintf("exit status %d", code)+s.gitHint(r.Output)
	default:
		r.Error = fmt.Sprintf("run command: %v", err)
	}
	return r
}

// gitHint says what to do where a program failed because .git is read-only.
func (s *shell) gitHint(output string) string {
	if s.env.Config.Sandbox.GitWrite || s.env.ReadOnly || s.env.Launch == nil {
		return ""
	}
	for line := range strings.Lines(output) {
		if strings.Contains(line, ".git") && strings.Contains(line, "Read-only file system") {
			return "; programs may not change .git here: sandbox.git_write = true in the configuration lets them commit"
		}
	}
	return ""
}

// call is asked before every command, builtins and functions too. It bounds what the interpreter has no bounds for.
func (s *shell) call(_ context.Context, argv []string) ([]string, error) {
	if s.calls.Add(1) > maxCalls {
		return nil, s.halt(fmt.Errorf("stopped: it runs more than %d commands", maxCalls))
	}
	var deep [1]uintptr
	if runtime.Callers(maxFrames, deep[:]) > 0 {
		return nil, s.halt(errors.New("stopped: functions call each other too deeply"))
	}
	if err := s.checkBuiltin(argv); err != nil {
		return nil, s.deny(argv[0], err)
	}
	return argv, nil
}
