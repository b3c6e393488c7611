package tool

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"
)

// maxGrowth is how much memory the interpreter may take in this process: doubling a string forty times must not end it.
const maxGrowth = 256 << 20

// lastTime is what is left of the process's time when a command is stopped, to report it: at the limit the kernel kills
// without a word.
const lastTime = 150 * time.Millisecond

// watchLimits stops a command under which this process grows too much, or comes to the end of its processor time. The
// function that it returns ends the watch.
func watchLimits(stop func(error)) func() {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		start := memory()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if now := memory(); now > start+maxGrowth {
				stop(fmt.Errorf("stopped: the command itself used more than %d MiB of memory", maxGrowth>>20))
				return
			}
			if timeLeft() < lastTime {
				stop(errors.New("stopped: the command itself used more CPU time than sandbox.cpu_s allows"))
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

func memory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

// timeLeft is the processor time that the kernel still grants this process.
func timeLeft() time.Duration {
	const most = time.Duration(1<<63 - 1)
	var limit syscall.Rlimit
	var used syscall.Rusage
	if syscall.Getrlimit(syscall.RLIMIT_CPU, &limit) != nil || syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil ||
		uint64(limit.Cur) > uint64(most/time.Second) {
		return most
	}
	return time.Duration(limit.Cur)*time.Second - time.Duration(used.Utime.Nano()+used.Stime.Nano())
}
