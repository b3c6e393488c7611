package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/config"
)

// Bounds of what the interpreter may do. Programs that it starts are not bound by them.
const (
	maxCalls  = 50_000 // simple commands in all
	maxFrames = 4_000  // of the Go stack: some 500 nested calls of functions
)

// Script is a command, with everything that its interpreter has to know: data, since that runs in another process.
type Script struct {
	Command   string   `json:"command"`
	Workspace string   `json:"workspace"`
	ID        string   `json:"id,omitzero"` // the workspace's device and inode
	Home      string   `json:"home"`        // the private home, as the interpreter sees it
	Own       string   `json:"own"`         // clawsh's home
	Staged    bool     `json:"staged,omitzero"`
	ReadOnly  bool     `json:"read_only,omitzero"` // nothing of the workspace may be written
	Bare      bool     `json:"bare,omitzero"`      // there is no sandbox
	Environ   []string `json:"environ"`
	Path      []string `json:"path"` // where programs are
	Forbidden []string `json:"forbidden,omitzero"`
	Secrets   []string `json:"secrets,omitzero"`
	Roots     []string `json:"roots,omitzero"`  // read roots
	Memory    int64    `json:"memory,omitzero"` // of each program, where the interpreter itself needs more; 0: the same
	Files     int      `json:"files,omitzero"`  // that each program may open, likewise
}

// Reads are the directories in which the call may read: its workspace, its home, and the read roots.
func (s Script) Reads() []string { return append([]string{s.Workspace, s.Home}, s.Roots...) }

// Report is how a script ended, as its interpreter saw it.
type Report struct {
	Status     int    `json:"status"`              // its exit status
	Error      string `json:"error,omitzero"`      // why it has none
	Refused    bool   `json:"refused,omitzero"`    // the error is that something was not permitted
	Stopped    bool   `json:"stopped,omitzero"`    // the error is that a bound was reached
	Unconfined bool   `json:"unconfined,omitzero"` // the error is that a program could not be confined as it has to be
	Stack      string `json:"stack,omitzero"`      // of a panic
}

// Host is where an interpreter runs: what it asks, what it writes to, and how it starts programs.
type Host struct {
	Guard  Guard
	Output io.Writer
	// Start starts a program; with alone, one that may start no other. Nil starts it with our rights.
	Start func(cmd *exec.Cmd, alone bool) error
	// Ended is called when no program runs any more, to end what they left.
	Ended func()
}

// shell is one running script.
type shell struct {
	script Script
	host   Host
	env    *Env
	ctx    context.Context
	stop   context.CancelCauseFunc
	ws     *workspace
	vars   *environment
	null   *os.File
	calls  atomic.Int64

	mu      sync.Mutex
	home    *workspace
	roots   map[string]*workspace // read roots that were looked into
	running int                   // programs
}

// Interpret parses a script and runs it, by the interpreter that belongs to the parser: what was judged is what runs.
func Interpret(ctx context.Context, script Script, host Host) (r Report) {
	file, err := parseCommand(script.Command)
	if err != nil {
		return Report{Error: fmt.Sprintf("run command: %v", err)}
	}
	s, err := newShell(ctx, script, host)
	if err != nil {
		return Report{Error: fmt.Sprintf("run command: %v", err)}
	}
	defer s.close()
	defer watchLimits(s.stop)()
	defer func() {
		if p := recover(); p != nil {
			r = Report{Error: fmt.Sprintf("internal error in the interpreter: %v", p), Stack: string(debug.Stack())}
		}
	}()
	return s.run(file)
}

func newShell(ctx context.Context, script Script, host Host) (*shell, error) {
	cfg := &config.Config{Home: script.Own, WorkspaceDir: script.Workspace, Secrets: script.Secrets,
		Workspace: config.Workspace{ID: script.ID},
		Security:  config.Security{ForbiddenPaths: script.Forbidden, WorkspaceOnly: true}}
	for _, root := range script.Roots {
		cfg.ReadRoots = append(cfg.ReadRoots, config.ReadRoot{Path: root})
	}
	if script.Staged {
		cfg.Sandbox.Layout = "staged"
	}
	env := &Env{Config: cfg, Guard: host.Guard, ReadOnly: script.ReadOnly}
	s := &shell{script: script, host: host, env: env, vars: oldEnvironment(script)}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	var err error
	if s.ws, err = openWorkspace(s.env); err != nil {
		return nil, err
	}
	// A nil stdin would do for programs, but crashes builtins that read.
	if s.null, err = os.Open(os.DevNull); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *shell) close() {
	s.stop(context.Canceled)
	s.ws.close()
	for _, w := range s.roots {
		w.close()
	}
	if s.home != nil {
		s.home.close()
	}
	if s.null != nil {
		s.null.Close()
	}
}

func (s *shell) run(file *syntax.File) Report {
	runner, err := s.runner()
	if err == nil {
		err = runner.Run(s.ctx, file)
	}
	// The reason why the command was stopped counts, not what became of it then.
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	var status interp.ExitStatus
	var refused refusedError
	var none NoSandboxError
	switch {
	case err == nil:
		return Report{}
	case errors.As(err, &none):
		return Report{Error: none.Error(), Unconfined: true}
	case errors.As(err, &refused):
		return Report{Error: refused.Error(), Refused: true}
	case s.ctx.Err() != nil:
		return Report{Error: err.Error(), Stopped: true}
	case errors.As(err, &status):
		return Report{Status: int(status)}
	}
	return Report{Error: fmt.Sprintf("run command: %v", err)}
}

// runner makes the interpreter. It opens files in its directory for temporary files past all handlers, so it is first
// told a directory that cannot exist, and then gets the environment with the real one.
func (s *shell) runner() (*interp.Runner, error) {
	out := &sink{to: s.host.Output, halt: s.halt}
	r, err := interp.New(
		interp.Env(expand.ListEnviron("TMPDIR=/dev/null/none", "HOME=/")),
		interp.Dir(s.ws.real),
		interp.StdIO(s.null, out, out),
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

// oldEnvironment is the environment that was made for a script.
func oldEnvironment(script Script) *environment {
	e := &environment{list: script.Environ, path: script.Path, base: map[string]string{}}
	for _, v := range e.list {
		name, value, _ := strings.Cut(v, "=")
		e.base[name] = value
	}
	return e
}
