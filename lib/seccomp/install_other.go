//go:build !linux

package seccomp

// Install is for Linux.
func (p Program) Install(bool) error { return errUnsupported }
