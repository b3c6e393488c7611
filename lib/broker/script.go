package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"clawsh/lib/place"
	"clawsh/lib/process"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// script has a script interpreted in the sandbox, by this program.
func (s *server) script(ctx context.Context, r Request, files []*os.File) Reply {
	if err := checkPipes(files); err != nil {
		return Reply{Error: err.Error()}
	}
	id, err := s.homeID(r.Adapt.Home)
	if err != nil {
		return Reply{Error: err.Error()}
	}
	if s.Config.Security.Sandbox == sandbox.Off {
		return s.bare(ctx, files)
	}
	if s.unavailable != nil {
		return Reply{Error: s.unavailable.Error(), Refused: true}
	}
	r.Adapt.Self, r.Adapt.HomeID = true, id
	exit, report, err := s.sandbox.Run(ctx, r.Adapt, sandbox.Program{Dir: place.Real(s.Config.WorkspaceDir)},
		sandbox.Streams{Stdin: files[0], Stdout: files[1], Stderr: files[2]})
	var none *sandbox.Unavailable
	switch {
	case errors.As(err, &none):
		return Reply{Error: err.Error() + "; " + none.Hint(), Refused: true}
	case err != nil:
		return Reply{Error: err.Error(), Report: &report}
	}
	return Reply{Exit: exit, Report: &report}
}

// checkPipes refuses whatever else could be passed: an open directory would lead programs out of the sandbox.
func checkPipes(files []*os.File) error {
	if len(files) != scriptPipes {
		return fmt.Errorf("a script comes with %d open files, not with %d", scriptPipes, len(files))
	}
	for _, f := range files {
		if info, err := f.Stat(); err != nil || info.Mode().Type() != os.ModeNamedPipe {
			return errors.New("a standard file of the interpreter is not a pipe")
		}
	}
	return nil
}

// homeID tells which directory the private home is that a request names. There programs may write, so it is one that
// was made for that, and no link.
func (s *server) homeID(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || filepath.Clean(dir) != dir || filepath.Dir(dir) != s.homes {
		return "", fmt.Errorf("%q is not a private home for a command", dir)
	}
	return place.Identity(info), nil
}

// bare has a script interpreted without a sandbox, which the configuration has asked for in so many words.
func (s *server) bare(ctx context.Context, files []*os.File) Reply {
	report := sandbox.Report{Engine: sandbox.Off, Guarantees: map[sandbox.Guarantee]string{}, Missing: sandbox.All}
	p := sandbox.Interpreter(process.Self(), place.Real(s.Config.WorkspaceDir))
	code, err := process.RunTree(ctx, process.TreeSpec{Argv: p.Argv, Dir: p.Dir, Env: p.Env,
		Stdin: files[0], Stdout: files[1], Stderr: files[2]})
	s.sweep()
	if err != nil {
		return Reply{Error: err.Error(), Report: &report}
	}
	return Reply{Exit: sandbox.Exit{Code: code}, Report: &report}
}

// sweep ends what a program without a sandbox has left behind, once nothing else runs.
func (s *server) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) == 1 {
		process.KillDescendants(os.Getpid())
	}
}

// Interpret takes over a process that a sandbox has started as the interpreter of a script, by the arguments that it
// gives one.
func Interpret(args []string) (mine bool, err error) {
	starter, err := sandbox.EnterInterpreter(args)
	if err != nil || starter == nil {
		return err != nil, err
	}
	return true, tool.InterpretFor(os.Stdin, os.Stderr, func(s tool.Script) tool.Host {
		starter.Memory, starter.Files, starter.Reads = s.Memory, s.Files, s.Reads()
		return tool.Host{Output: os.Stdout, Ended: starter.Ended, Start: func(cmd *exec.Cmd, alone bool) error {
			err := starter.Start(cmd, alone)
			if errors.Is(err, sandbox.ErrAlone) {
				return tool.NoSandboxError{Err: err}
			}
			return err
		}}
	})
}
