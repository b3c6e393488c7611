package process

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// killRounds bounds how often processes are listed and killed that appear faster than they can be listed.
const killRounds = 100

// killTree kills a process that we have not reaped yet, its group and, where they can be found, its descendants that
// have left the group. All are stopped before they are killed, so that none can start another one, or lose its parent
// and with it our trace, meanwhile.
func killTree(pid int) {
	syscall.Kill(-pid, syscall.SIGSTOP)
	var found []int
	for range killRounds {
		known := len(found)
		for _, p := range descendants(pid, nil) {
			if !slices.Contains(found, p) {
				syscall.Kill(p, syscall.SIGSTOP)
				found = append(found, p)
			}
		}
		if len(found) == known {
			break
		}
	}
	for _, p := range found {
		syscall.Kill(p, syscall.SIGKILL)
	}
	killGroup(pid)
}

func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// descendants appends all descendants of the process to seen, parents first.
func descendants(pid int, seen []int) []int {
	for _, c := range children(pid) {
		seen = descendants(c, append(seen, c))
	}
	return seen
}

// killTime is how long KillDescendants tries: longer than a kernel needs.
const killTime = 2 * time.Second

// KillDescendants kills all descendants of the process, repeatedly until none is left: a best effort, only on Linux,
// for at most two seconds. Programs that left their group and whose parents are gone (daemons) are found only if pid
// is our own and we adopt orphans (Reap).
//
// For our own pid that is everything that we have started, stages too. It reaps these processes, so a Wait for one of
// them fails: call it only when none of them is needed any more.
func KillDescendants(pid int) {
	for end := time.Now().Add(killTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		found := descendants(pid, nil)
		if pid != os.Getpid() {
			found = slices.DeleteFunc(found, dead) // to be reaped by that one
		}
		if len(found) == 0 {
			return
		}
		for _, p := range found {
			syscall.Kill(p, syscall.SIGKILL)
			reap(p)
		}
	}
}

// Descendants returns the descendants of a process that can be found (on Linux), parents first.
func Descendants(pid int) []int { return descendants(pid, nil) }

// KillTree kills a process that has not been reaped yet, its group and its descendants.
func KillTree(pid int) { killTree(pid) }
