// Package tool holds the built-in tools that claw-exec runs for a model: what they do. What they are is on their cards
// (package card).
//
// A tool gets arguments that its card has decoded strictly, stays within its timeout and within the limits of the
// configuration, and reports every failure as a Result: Run never returns an error and never panics. Text is valid
// UTF-8; of output that is too long, head and tail are kept and what was cut is said.
//
// Files are reached through os.Root, opened on the workspace: no path, symbolic link or race leads out of it. Only
// regular files are opened; nothing is written through symbolic or hard links, nor into .git. Programs are started with
// an environment that is made for them, in sessions of their own, and killed as trees. Web addresses are checked when
// the connection is made, after the name was resolved (DESIGN §4, §6).
//
// The policy has decided about a call before it comes here. What it could not see then, expanded variables and globs,
// is asked of Env.Guard while a command runs.
package tool

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"clawsh/lib/card"
	"clawsh/lib/config"
	"clawsh/lib/record"
	"clawsh/lib/result"
	"clawsh/lib/secret"
)

// Tool is something that a model can call: its card, and what it does.
type Tool struct {
	card.Card
	invoke func(ctx context.Context, args record.Raw, env *Env) Result
}

// builtin are the built-in tools. Each is found on the card that has its arguments.
func builtin() []Tool {
	return []Tool{bind(tellTime), bind(listFiles), bind(readText), bind(searchFiles), bind(editFile), bind(writeFile),
		bind(runCommand), bind(getPage), bind(searchMemory), bind(askUser)}
}

func bind[A any](do func(context.Context, A, *Env) Result) Tool {
	var t Tool
	for _, c := range card.All() {
		if _, ok := c.Args.(A); ok {
			t.Card = c
		}
	}
	t.invoke = func(ctx context.Context, raw record.Raw, env *Env) Result {
		args, err := card.Decode[A](raw)
		if err != nil {
			return failf("invalid arguments: %v", err)
		}
		return do(ctx, args, env)
	}
	return t
}

// Lookup returns the built-in tool of a name.
func Lookup(name string) (Tool, bool) {
	for _, t := range builtin() {
		if t.Name == name && name != "" {
			return t, true
		}
	}
	return Tool{}, false
}

// Kinds of access that a Guard is asked about.
const (
	GuardExec      = "exec"       // argv is a program's path and its arguments
	GuardOpenRead  = "open-read"  // argv is an absolute path, here and below
	GuardOpenWrite = "open-write" //
	GuardStat      = "stat"
	GuardReadDir   = "readdir"
	GuardAlone     = "alone" // the same; nil: the program is to start no other
)

// Guard is asked before each access of a tool, when all names are known: kind is one of the Guard constants, dir the
// working directory. An error refuses the access and ends the call with its message. Guards are called concurrently.
// One that ctx has kept from deciding returns an error that is its cause (context.Cause): then the call was
// interrupted, and nothing refused.
type Guard func(ctx context.Context, kind, dir string, argv []string) error

// undecided tells whether a guard's error is that nobody waited for what it would have said.
func undecided(ctx context.Context, err error) bool {
	cause := context.Cause(ctx)
	return cause != nil && errors.Is(err, cause)
}

// Launch is a script that a tool has interpreted in the sandbox.
type Launch struct {
	Script Script
	Home   string          // the private home, where it is outside
	Ask    card.SandboxAsk // what the call wants of the sandbox
	Obeyed []string        // files that other programs obey, and that it may write
	Guard  Guard           // is asked by the interpreter
	Output io.Writer       // of all that runs there
}

// Launched is what became of it.
type Launched struct {
	Report      *Report // by the interpreter; nil if it ended without one
	Denied      error   // what the guard has refused
	Killed      string  // why the sandbox was ended, if it was
	Code        int     // the exit code of the interpreter
	Words       string  // its last, if it crashed
	Engine      string
	Confinement *record.Confinement
	Made        []string // what programs made that others obey, below the workspace
}

// Launcher has a script interpreted in the sandbox. The error is a NoSandboxError, the cause of ctx, or why the
// interpreter could not be started.
type Launcher func(ctx context.Context, l Launch) (Launched, error)

// NoSandboxError means that the sandbox that the policy requires cannot be set up: nothing was run.
type NoSandboxError struct{ Err error }

// Error implements error.
func (e NoSandboxError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e NoSandboxError) Unwrap() error { return e.Err }

// Env is what a tool may know about its surroundings.
type Env struct {
	// Config holds the limits and the domains that http may reach. It is required.
	Config *config.Config
	// Workspace is the directory that file tools and shell work in; Config.WorkspaceDir if empty.
	Workspace string
	// ConversationID is the conversation that the call belongs to.
	ConversationID string
	// Result is the path by which the model can read on what this call returns; empty if it is not kept.
	Result string
	// Results holds what earlier calls of the conversation returned.
	Results *result.Store
	// SelfEnv is the environment of this process. Tools choose from it by an allowlist and pass none of the rest on.
	SelfEnv []string
	// Secrets withholds what is secret from outputs and errors; nil withholds nothing.
	Secrets *secret.Redactor
	// Log gets what people who run clawsh should know. Nil means nowhere.
	Log *slog.Logger
	// Guard refuses single accesses; nil refuses none.
	Guard Guard
	// Obeyed are the files that other programs obey and that the call was permitted to write.
	Obeyed []string
	// ReadOnly tells that the call was permitted to read only: nothing of the workspace is written, by programs
	// neither.
	ReadOnly bool
	// Launch has the shell tool's scripts interpreted in the sandbox. Nil interprets them in this process, with our
	// rights.
	Launch Launcher
	// HomeSeen is where programs see their private home, if the sandbox shows it in another place than it is.
	HomeSeen string
	// CacheSeen is where programs see the workspace's cache of what builders made, empty if there is none.
	CacheSeen string
	// Away runs in another process what this one may not do itself (card.Needs.Runs). Nil runs all of it here.
	Away func(ctx context.Context, t Tool, args record.Raw, env *Env) Result
	// testOnlyAllowLoopback lets tests reach a server of their own, at any port. Nothing outside the tests can set it.
	testOnlyAllowLoopback bool
	// Scratch, if set, is reused by the commands of a process that runs one at a time.
	Scratch *Scratch
}

func (e *Env) workspaceDir() string {
	if e.Workspace != "" {
		return e.Workspace
	}
	return e.Config.WorkspaceDir
}

// Result is what a tool did. Output is kept if there is any, whether it succeeded or not. Error says why it did not.
// Denied tells a refusal, by the workspace's border, the Guard or the like, from a failure.
type Result struct {
	Success bool
	Denied  bool
	Output  string
	Error   string
	Meta    record.ResultMeta
	// Whole is the output before it was cut, as much of it as is kept.
	Whole string `json:"-"`
}
