//go:build linux

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The real stages, while they wait for input, have given up new privileges, are held to a filter, and show nobody their
// memory.
func TestStagesAreConfined(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := []string{"HOME=" + home, "CLAWSH_HOME=" + home + "/.clawsh", "PATH=" + os.Getenv("PATH")}
	initialise := exec.Command(filepath.Join(bin, "clawsh"), "init")
	initialise.Env = env
	if out, err := initialise.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"} {
		cmd := exec.Command(filepath.Join(bin, name))
		cmd.Env = env
		var said strings.Builder
		// Wait waits for all who hold it: claw-exec's broker may still be making its cache when claw-exec has ended
		cmd.Stderr = &said
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"NoNewPrivs:": "1", "Seccomp:": "2"}
		deadline := time.Now().Add(10 * time.Second)
		for !all(status(cmd.Process.Pid), want) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if s := status(cmd.Process.Pid); !all(s, want) {
			t.Errorf("%s: %v, want %v", name, s, want)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v: %s", name, err, said.String())
		}
	}
}

// status is what the kernel says about a process.
func status(pid int) map[string]string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 {
			out[f[0]] = f[1]
		}
	}
	return out
}

func all(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}
