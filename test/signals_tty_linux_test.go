package test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/test/need"
)

// TestSignalsRestoreTheTerminal: however a signal ends a conversation on a terminal, while it starts, waits for a
// message or answers one, the terminal is as it was before, and the exit code is that of the signal.
func TestSignalsRestoreTheTerminal(t *testing.T) {
	t.Parallel()
	rounds := need.Rounds(6, 20)
	c := newCrash(t)
	fixture := `{"tool_calls":[{"name":"shell","args":{"command":"ls -d ."}}]}` + "\n" +
		`{"final_text":"done","delay_ms":50}` + "\n"
	if err := os.WriteFile(filepath.Join(c.dir, "fixture.jsonl"), []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	sigs := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT}
	for n := range rounds {
		r := c.rng(n, 9)
		moment := time.Duration(r.Int64N(int64(400 * time.Millisecond)))
		sig, group := sigs[r.IntN(len(sigs))], r.IntN(2) == 0
		what := fmt.Sprintf("round %d: %v, to the group: %v, after %v", n, sig, group, moment)
		master, slave, err := openPTY()
		if err != nil {
			t.Fatal(err)
		}
		before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		cmd := c.command("clawsh", "agent")
		cmd.Env = append(cmd.Env, "TERM=xterm")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		io.WriteString(master, "go\r")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		screen := newScreen(master)
		time.Sleep(moment) // the moment is what is drawn
		code := endByKeyOrSignal(cmd, sig, group)
		after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil || *after != *before {
			t.Errorf("%s: the terminal is not as it was: %v\n%+v\n%+v\n%s", what, err, before, after, screen.text())
		}
		if code != 0 && code != 128+int(sig) && code != 128+int(syscall.SIGTERM) {
			t.Errorf("%s: exit code %d: %s", what, code, screen.text())
		}
		if strings.Contains(screen.text(), "JSON envelope") {
			t.Errorf("%s: %s", what, screen.text())
		}
		slave.Close()
		master.Close()
	}
}

// endByKeyOrSignal sends a signal, and SIGTERM after a while, since SIGINT ends a turn and not a conversation.
func endByKeyOrSignal(cmd *exec.Cmd, sig syscall.Signal, group bool) int {
	pid := cmd.Process.Pid
	if group {
		pid = -pid
	}
	syscall.Kill(pid, sig)
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	for _, next := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		wait := time.Second
		if next == syscall.SIGKILL {
			wait = patient
		}
		select {
		case <-ended:
		case <-time.After(wait):
			syscall.Kill(cmd.Process.Pid, next)
		}
	}
	<-ended
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
