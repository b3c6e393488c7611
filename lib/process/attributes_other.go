//go:build !linux

package process

import "syscall"

func stageAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func treeAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// children works only on Linux: elsewhere, processes that leave the process group are not found.
func children(int) []int { return nil }
