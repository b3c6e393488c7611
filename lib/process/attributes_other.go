//go:build !linux

package process

import "syscall"

func stageAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func treeAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// children is known on Linux only: elsewhere what leaves the process group is not found.
func children(int) []int { return nil }
