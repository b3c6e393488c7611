//go:build !linux

package process

import "os/exec"

// Reap works only on Linux; elsewhere init adopts orphans.
func Reap() error { return nil }

func reap(int) {}

func dead(int) bool { return true }

// reapAfter reaps the program and then calls ended.
func reapAfter(cmd *exec.Cmd, ended func()) error {
	defer ended()
	return cmd.Wait()
}
