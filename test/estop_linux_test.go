package test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The emergency stop ends a running command within a second, with all that it started and hid, and lets nothing new
// start.
func TestEstopEndsWhatRuns(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	home := t.TempDir()
	env := []string{"HOME=" + home, "CLAWSH_HOME=" + home + "/.clawsh", "PATH=" + os.Getenv("PATH")}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "clawsh"), args...)
		cmd.Env = env
		return cmd
	}
	if out, err := run("init").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := home + "/.clawsh/config.toml"
	b, _ := os.ReadFile(file)
	os.WriteFile(file, []byte(strings.Replace(string(b), `autonomy = "supervised"`, `autonomy = "full"`, 1)), 0o600)
	beat := home + "/clawsh-workspace/beat"
	pulse, end := fifoOf(t, beat)
	defer end.Close()
	script := `exec 9>beat; (setsid sh -c '(while :; do echo x >&9; sleep 0.02; done) >/dev/null 2>&1 &'); trap '' TERM INT HUP; while :; do sleep 1; done`
	cmd := run("tool", "run", "shell", "--json",
		`{"command":`+quoteJSON("sh -c '"+strings.ReplaceAll(script, "'", `'\''`)+"'")+`}`)
	var out strings.Builder
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	pulse.SetReadDeadline(time.Now().Add(patient))
	if _, err := pulse.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the command does not run: %v: %s", err, out.String())
	}
	pulse.Close()
	start := time.Now()
	if err := os.Mkdir(home+"/.clawsh/ESTOP", 0o700); err != nil { // not even a file: it counts all the same
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		cmd.Process.Kill()
		t.Fatal("the command runs on")
	}
	took := time.Since(start)
	t.Logf("stopped after %v; the aim is 1 s", took)
	if took > 5*time.Second { // the machine may be busy; what is never stopped fails
		t.Errorf("it took %v", took)
	}
	end.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, end); err != nil {
		t.Errorf("it beats on: %v", err)
	}
	if err := run("tool", "run", "time", "--json", "{}").Run(); err == nil {
		t.Error("a tool runs during the stop")
	} else if code := err.(*exec.ExitError).ExitCode(); code != 77 {
		t.Errorf("exit code %d", code)
	}
}

// fifoOf makes a FIFO. The first end of it can be read before a program has opened it; the second ends when no program,
// and not the first, holds it any more.
func fifoOf(t *testing.T, path string) (first, end *os.File) {
	t.Helper()
	err := syscall.Mkfifo(path, 0o600)
	if err == nil {
		first, err = os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	}
	if err == nil {
		end, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return first, end
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// quoteJSON quotes a text of printable ASCII.
func quoteJSON(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
