//go:build !linux

package process

import "os/exec"

// Reap is for Linux; elsewhere orphans go to init.
func Reap() error { return nil }

func reap(int) {}

func dead(int) bool { return true }

// reapAfter collects the program and calls ended then.
func reapAfter(cmd *exec.Cmd, ended func()) error {
	defer ended()
	return cmd.Wait()
}
