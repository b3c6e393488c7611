//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"clawsh/test/need"
)

func TestMain(m *testing.M) {
	Enter(os.Args)
	m.Run()
}

// BenchmarkStart is what a sandbox adds to the start of a program that does nothing: the figures to compare are
// fork_exec_ms and added_ms, which is to be below 10.
func BenchmarkStart(b *testing.B) {
	plain := median(b, func() error { return exec.Command(truth()).Run() })
	for _, name := range []string{Native, Bubblewrap, Landlock} {
		e, ok := engines()[name]
		if !ok {
			continue
		}
		b.Run(name, func(b *testing.B) {
			place := Place{Workspace: b.TempDir()}
			took := median(b, func() error {
				_, err := e.run(b.Context(), place, testLimits(),
					Program{Argv: []string{truth()}, Dir: place.Workspace}, Streams{})
				return err
			})
			b.ReportMetric(float64(plain.Microseconds())/1000, "fork_exec_ms")
			b.ReportMetric(float64((took-plain).Microseconds())/1000, "added_ms")
			b.ReportMetric(10, "aim_ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// median is the median time of 30 runs.
func median(b *testing.B, run func() error) time.Duration {
	var all []time.Duration
	for range 30 {
		start := time.Now()
		if err := run(); err != nil {
			need.Skip(b, need.Sandbox, "%v", err)
		}
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func testLimits() Limits {
	return Limits{MemoryBytes: 512 << 20, Processes: 64, OpenFiles: 256, CPUs: 1, CPUS: 20, FileBytes: 64 << 20,
		TmpBytes: 16 << 20}
}
