//go:build !linux

package sandbox

import (
	"os/exec"
	"slices"
	"syscall"

	"clawsh/lib/process"
)

// softLimit is for Linux.
type softLimit struct{}

// EnterInterpreter tells whether this process was started as the interpreter of a script.
func EnterInterpreter(args []string) (*Starter, error) {
	if len(args) != 3 || args[1] != confineWord ||
		!slices.Contains([]string{StageShell, StageShared, StageBare}, args[2]) {
		return nil, nil
	}
	const data = 2 // RLIMIT_DATA
	var have syscall.Rlimit
	if err := syscall.Getrlimit(data, &have); err != nil {
		return nil, err
	}
	have.Cur = min(have.Max, InterpreterMemory)
	return &Starter{stage: args[2]}, syscall.Setrlimit(data, &have)
}

// Start starts a program of the script.
func (s *Starter) Start(cmd *exec.Cmd, alone bool) error {
	if alone {
		return setupError{ErrAlone}
	}
	return process.Launch(cmd)
}

// Ended is for Linux.
func (s *Starter) Ended() {}
