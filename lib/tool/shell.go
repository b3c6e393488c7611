package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/config"
	"clawsh/lib/obeyed"
	"clawsh/lib/record"
)

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// NoNetwork is why no command gets a network.
const NoNetwork = "commands have no network; to read a web page, call the http tool"

// runCommand runs a command in the workspace. It is parsed once, and run by the interpreter that belongs to the parser:
// what was judged is what runs. Programs start in sessions of their own and see an environment that is made for them,
// with a home directory that lives as long as the command. What the interpreter opens and lists itself stays in the
// workspace.
func runCommand(ctx context.Context, a card.ShellArgs, env *Env) Result {
	if most := env.Config.Limits.ShellTimeoutMaxS; a.TimeoutS != nil && !(*a.TimeoutS > 0 && *a.TimeoutS <= most) {
		return failf("invalid arguments: want timeout_s above 0 and up to %s", number(most))
	}
	if a.Network != nil {
		return failf("invalid arguments: %s", NoNetwork)
	}
	if err := a.Sandbox.Check(); err != nil {
		return failf("invalid arguments: %v", err)
	}
	j, err := newJob(ctx, env, a.Command, a.Sandbox)
	if err != nil {
		return failf("run command: %v", err)
	}
	defer j.close()
	return j.run()
}

// job is one call of the tool, outside of the sandbox: what the interpreter is told, and what becomes of it.
type job struct {
	ctx    context.Context
	env    *Env
	ask    card.SandboxAsk // what the call wants of the sandbox
	script Script
	home   *privateHome
	out    *output
}

func newJob(ctx context.Context, env *Env, command string, ask *card.SandboxAsk) (*job, error) {
	j := &job{ctx: ctx, env: env, out: newOutput(env.Config.Limits.MaxOutputBytes)}
	if ask != nil {
		j.ask = *ask
	}
	j.out.clean = env.Secrets.NewStream()
	ws, err := openWorkspace(env)
	if err != nil {
		return nil, err
	}
	defer ws.close()
	deterministic := j.ask.Deterministic || env.Config.Sandbox.Deterministic
	if ws.staged = ws.staged || j.ask.Layout == "staged"; ws.staged {
		for _, name := range config.Stages() {
			if err := ws.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("make %s/ of the staged workspace: %w", name, why(err))
			}
		}
	}
	if j.home, err = env.Scratch.take(); err != nil {
		return nil, err
	}
	if _, err := j.home.open(); err != nil {
		return nil, err
	}
	c, home := env.Config, j.home.dir
	if env.HomeSeen != "" {
		home = env.HomeSeen
	}
	vars := newEnvironment(env, ws, home, deterministic)
	j.script = Script{Command: command, Workspace: env.workspaceDir(), ID: c.Workspace.ID, Home: home, Own: c.Home,
		Staged: ws.staged, ReadOnly: env.ReadOnly, Environ: vars.list, Path: vars.path,
		Forbidden: c.Security.ForbiddenPaths, Secrets: c.Secrets, Roots: c.Readable()}
	return j, nil
}

func (j *job) close() { j.env.Scratch.give(j.home) }

// run has the script interpreted in the sandbox; with no one to launch it there, here.
func (j *job) run() Result {
	if j.env.Launch == nil {
		report := Interpret(j.ctx, j.script, Host{Guard: j.env.Guard, Output: j.out})
		return j.result(Launched{Report: &report}, nil)
	}
	return j.result(j.env.Launch(j.ctx, Launch{Script: j.script, Home: j.home.dir, Ask: j.ask, Obeyed: j.env.Obeyed,
		Guard: j.env.Guard, Output: j.out}))
}

// result says what became of a script. A refusal is known here, whatever the interpreter reports; without a report
// nothing is taken for done.
func (j *job) result(l Launched, err error) Result {
	r := Result{Meta: record.ResultMeta{Sandbox: l.Engine, Confinement: l.Confinement}}
	if r.Meta.Sandbox == "" {
		r.Meta.Sandbox = record.SandboxInterpreter
	}
	j.out.into(&r, j.env.Result)
	r.tellMade(l.Made)
	var none NoSandboxError
	switch {
	case errors.As(err, &none):
		r.Error, r.Meta.Sandbox = none.Error(), record.SandboxUnavailable
	case j.ctx.Err() != nil && l.Denied == nil:
		r.interrupted(context.Cause(j.ctx))
	case err != nil:
		r.Error = fmt.Sprintf("run command: %v", err)
	case l.Denied != nil && (l.Report == nil || !l.Report.Refused):
		r.Error, r.Denied = "denied: "+l.Denied.Error(), true
	case l.Report == nil:
		r.interrupted(fmt.Errorf("stopped: %s", l.ending()))
	default:
		j.reported(&r, *l.Report)
	}
	return r
}

// tellMade says in the output, to the model and to people, which files the command made that other programs obey.
func (r *Result) tellMade(made []string) {
	for _, name := range made {
		row, ok := obeyed.Match(name)
		if !ok {
			row.Program, row.Why = "git", "it makes its directory a repository, whose settings name programs"
		}
		if r.Output != "" && !strings.HasSuffix(r.Output, "\n") {
			r.Output += "\n"
		}
		r.Output += fmt.Sprintf("[clawsh: this command made %+q, which %s obeys: %s]\n", name, row.Program, row.Why)
	}
	r.Meta.Made = made
}

func (j *job) reported(r *Result, report Report) {
	switch {
	case report.Unconfined:
		r.Error, r.Meta.Sandbox = report.Error, record.SandboxUnavailable
	case report.Refused:
		r.Error, r.Denied = report.Error, true
	case report.Stopped:
		r.interrupted(errors.New(report.Error))
	case report.Error != "":
		r.Error = report.Error
	case report.Status == 0:
		r.Success, r.Meta.ExitCode = true, new(int)
	default:
		r.Meta.ExitCode, r.Error = &report.Status, fmt.Sprintf("exit status %d", report.Status)+j.gitHint(r.Output)
	}
	if report.Stack != "" && j.env.Log != nil {
		j.env.Log.Error("shell interpreter panicked", "panic", report.Error, "stack", report.Stack)
	}
}

// gitHint says what to do where a program failed because .git is read-only.
func (j *job) gitHint(output string) string {
	if j.env.Config.Sandbox.GitWrite || j.env.ReadOnly || j.env.Launch == nil {
		return ""
	}
	for line := range strings.Lines(output) {
		if strings.Contains(line, ".git") && strings.Contains(line, "Read-only file system") {
			return "; programs must not change .git here; to let them commit, set sandbox.git_write = true in the configuration"
		}
	}
	return ""
}
