package tool

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"time"
)

// maxGrowth is how much memory the interpreter may take in this process: doubling a string forty times must not end it.
const maxGrowth = 256 << 20

// watchMemory stops a command under which this process grows too much. The function that it returns ends the watch.
func watchMemory(stop func(error)) func() {
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
				stop(fmt.Errorf("stopped: the command itself takes more than %d MiB of memory", maxGrowth>>20))
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
