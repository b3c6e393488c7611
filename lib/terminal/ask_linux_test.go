package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain runs a question in a child of its own: it needs a controlling terminal.
func TestMain(m *testing.M) {
	switch os.Getenv("TERMINAL_TEST") {
	case "confirm":
		ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Second, errors.New("timed out"))
		defer cancel()
		if os.Getenv("TERMINAL_CANCEL") != "" {
			cancel()
		}
		yes, err := Confirm(ctx, "Sure? ")
		fmt.Println("answer:", yes, err)
		return
	}
	os.Exit(m.Run())
}

// question runs Confirm on a pseudo-terminal. before is typed before the question is shown, after behind it.
func question(t *testing.T, before, after string, hangup bool, env ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer master.Close()
	n, _ := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "TERMINAL_TEST=confirm"), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	master.WriteString(before)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var shown []byte
	buf := make([]byte, 256)
	for !bytes.Contains(shown, []byte("Sure? ")) && env == nil {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatalf("no question: %q", shown)
		}
		shown = append(shown, buf[:n]...)
	}
	master.WriteString(after)
	if hangup {
		master.Close()
	}
	cmd.Wait()
	return out.String()
}

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                string
	}{
		{"y", "", "y\n", "true <nil>"}, {"Y", "", "Y\n", "true <nil>"}, {"yes", "", " yes \n", "true <nil>"},
		{"n", "", "n\n", "false <nil>"}, {"empty", "", "\n", "false <nil>"}, {"yep", "", "yep\n", "false <nil>"},
		{"end of input", "", "\x04", "false <nil>"}, {"typed ahead", "y\ny\ny\n", "\n", "false <nil>"},
		{"long", "", strings.Repeat("y", 100) + "\n", "false the answer is longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := question(t, c.before, c.after, false); !strings.Contains(got, "answer: "+c.want) {
				t.Errorf("got %q, want %s", got, c.want)
			}
		})
	}
}

func TestConfirmWithoutAnswer(t *testing.T) {
	if got := question(t, "", "", true); strings.Contains(got, "true") {
		t.Errorf("hung up: %q", got)
	}
	if got := question(t, "", "", false, "TERMINAL_CANCEL=1"); !strings.Contains(got, "answer: false context canceled") {
		t.Errorf("cancelled: %q", got)
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout = append(os.Environ(), "TERMINAL_TEST=confirm"), &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Run()
	if !strings.Contains(out.String(), "answer: false "+ErrNoTerminal.Error()) {
		t.Errorf("no terminal: %q", out.String())
	}
}
