package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"clawsh/test/need"
)

const threadsVariable = "CLAWSH_CONFINE_THREADS"

// inThreads confines this process while several threads of its own run, and says what holds for each of them and for
// one that comes later.
func inThreads(dir string) {
	const n = 6
	var began, ended sync.WaitGroup
	confined, said := make(chan struct{}), make(chan string, n+1)
	thread := func(before bool) {
		runtime.LockOSThread()
		if before {
			began.Done()
			<-confined
		}
		status, _ := os.ReadFile("/proc/thread-self/status")
		var in []string
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "NoNewPrivs:") || strings.HasPrefix(line, "Seccomp:") {
				in = append(in, strings.Join(strings.Fields(line), ""))
			}
		}
		_, open := os.Open(filepath.Join(dir, "forbidden"))
		_, _, socket := syscall.RawSyscall(syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_STREAM, 0)
		said <- fmt.Sprint(in, os.IsPermission(open), socket == syscall.EAFNOSUPPORT)
		ended.Done()
		select {}
	}
	began.Add(n)
	ended.Add(n + 1)
	for range n {
		go thread(true)
	}
	began.Wait()
	if r, err := Self(Access{}); err != nil || r.LandlockABI == 0 || r.Filter == "" {
		fmt.Println("not confined:", r, err)
		syscall.Exit(1)
	}
	close(confined)
	go thread(false)
	ended.Wait()
	for range n + 1 {
		fmt.Println(<-said)
	}
	syscall.Exit(0)
}

// What is given up is given up by all threads: those that there were, and those that come.
func TestAllThreads(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "forbidden"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{threadsVariable + "=" + dir}
	out, err := cmd.Output()
	if err != nil {
		need.Skip(t, need.Confined, "a process cannot confine itself here: %s", out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 7 {
		t.Errorf("%d threads answered:\n%s", len(lines), out)
	}
	for _, l := range lines {
		if l != "[NoNewPrivs:1 Seccomp:2] true true" {
			t.Errorf("a thread has: %s", l)
		}
	}
}
