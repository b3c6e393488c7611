package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/interp"

	"clawsh/lib/process"
)

// Exit statuses of a shell for programs that did not run.
const (
	statusCannotRun = 126
	statusNotFound  = 127
)

// exec runs a program: every call that is neither a function nor a builtin, with all words expanded.
func (s *shell) exec(ctx context.Context, argv []string) error {
	h := interp.HandlerCtx(ctx)
	path, err := s.find(h.Dir, argv[0])
	if err != nil {
		fmt.Fprintf(h.Stderr, "%s: %v\n", quoteName(argv[0]), err)
		return interp.ExitStatus(statusNotFound)
	}
	word := quoteName(argv[0])
	argv = append([]string{path}, argv[1:]...)
	if s.env.Guard != nil {
		if err := s.env.Guard(ctx, GuardExec, h.Dir, argv); undecided(ctx, err) {
			return err
		} else if err != nil {
			return s.deny(word, err)
		}
	}
	env, err := s.vars.child(h)
	if err != nil {
		return s.deny(word, err)
	}
	code, err := s.start(ctx, h, argv, env)
	var none NoSandboxError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &none):
		return s.halt(err)
	case errors.Is(err, syscall.ENOEXEC):
		err = errors.New("is neither a program nor a script with an interpreter line")
		fallthrough
	case err != nil && code < 0:
		fmt.Fprintf(h.Stderr, "%s: %v\n", word, why(err))
		return interp.ExitStatus(statusCannotRun)
	case code != 0:
		return interp.ExitStatus(code)
	}
	return nil
}

// start runs a program in the place where we are.
func (s *shell) start(ctx context.Context, h interp.HandlerContext, argv, env []string) (int, error) {
	spec := process.TreeSpec{Argv: argv, Dir: h.Dir, Env: env, Stdin: h.Stdin, Ended: s.ended}
	alone := s.alone(ctx, h.Dir, argv)
	if alone && s.script.Bare {
		return -1, NoSandboxError{errors.New("no sandbox keeps git from starting other programs")}
	}
	var out relays
	defer func() { out.finish() }()
	var err error
	if spec.Stdout, err = out.file(h.Stdout); err != nil {
		return -1, err
	}
	if spec.Stderr, err = out.file(h.Stderr); err != nil {
		return -1, err
	}
	spec.Start = func(cmd *exec.Cmd) error {
		s.starting()
		err := s.launch(cmd, alone)
		out.started()
		if err != nil {
			s.ended()
		}
		return err
	}
	return process.RunTree(ctx, spec)
}

func (s *shell) launch(cmd *exec.Cmd, alone bool) error {
	if s.host.Start == nil {
		return process.Launch(cmd)
	}
	return s.host.Start(cmd, alone)
}

func (s *shell) starting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
}

// ended ends what programs have left, once none of them runs any more. While it does, none starts.
func (s *shell) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.host.Ended != nil {
		s.host.Ended()
	}
}

// alone tells whether a program is to start no other: git, in a call that only reads, or where it only looks itself.
func (s *shell) alone(ctx context.Context, dir string, argv []string) bool {
	if filepath.Base(argv[0]) != "git" {
		return false
	}
	return s.script.ReadOnly || s.env.Guard != nil && s.env.Guard(ctx, GuardAlone, dir, argv) == nil
}

// find finds a program: by its path if the word has a slash, else in the directories of our PATH, whatever the command
// made of the variable. None of these is in the workspace.
func (s *shell) find(dir, word string) (string, error) {
	if strings.Contains(word, "/") {
		if !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		info, err := os.Stat(word)
		if err == nil && !info.Mode().IsRegular() {
			err = regular(info)
		}
		return word, why(err)
	}
	for _, d := range s.vars.path {
		path := filepath.Join(d, word)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New("command not found")
}
