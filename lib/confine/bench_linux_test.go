package confine

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/test/need"
)

const variable = "CLAWSH_CONFINE_BENCH"

// TestMain measures in processes of their own: what is given up is given up for good.
func TestMain(m *testing.M) {
	if dir := os.Getenv(threadsVariable); dir != "" {
		inThreads(dir)
	}
	if os.Getenv(variable) == "" {
		m.Run()
		return
	}
	dir := os.Getenv(variable)
	start := time.Now()
	r, err := Self(Access{Read: []string{dir}, List: []string{dir}, Own: []string{dir + "/log"},
		Write: []string{dir + "/w"}})
	took := time.Since(start)
	if err != nil {
		fmt.Println(err)
		syscall.Exit(1)
	}
	fmt.Println(took.Microseconds(), r.LandlockABI)
	syscall.Exit(0)
}

// BenchmarkSelf is what a program's self-confinement costs at its start: the aim is less than 1000 microseconds.
func BenchmarkSelf(b *testing.B) {
	dir := b.TempDir()
	var all []float64
	for range 30 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{variable + "=" + dir}
		out, err := cmd.Output()
		if err != nil {
			need.Skip(b, need.Confined, "a process cannot confine itself here (a build with cgo cannot): %s", out)
		}
		us, _ := strconv.ParseFloat(strings.Fields(string(out))[0], 64)
		all = append(all, us)
	}
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], "confine_us")
	b.ReportMetric(1000, "aim_us")
	b.ReportMetric(0, "ns/op")
}
