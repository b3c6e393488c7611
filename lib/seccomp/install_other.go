//go:build !linux

package seccomp

// Install works only on Linux.
func (p Program) Install(bool) error { return errUnsupported }
