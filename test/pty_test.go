//go:build linux

package test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// pty: pty SCRIPT COMMAND… — runs the command on a pseudo-terminal that is its controlling terminal. SCRIPT is a file
// with one step a line: "expect TEXT" waits until TEXT was printed after the last match; "send TEXT" types it (\n, \r,
// \x03 are understood), before the command is started if it is the first step; "paste N TEXT" types it N times, as it
// arrives over a slow connection, 16 bytes in a millisecond; "size ROWS COLUMNS", before all others, says how large the
// screen is; "hangup" closes the terminal; "touch FILE" makes a file. What was printed is kept in the file "tty".
func pty(ts *testscript.TestScript, neg bool, args []string) {
	master, slave, err := openPTY()
	ts.Check(err)
	path, err := exec.LookPath(ts.Getenv("BIN") + "/" + args[1])
	if err != nil {
		path, err = exec.LookPath(args[1])
		ts.Check(err)
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "CLAWSH_HOME", "PATH", "TMPDIR", "LANG", "TZ", "CLAWSH_CONFIG",
		"TEST_API_KEY", "NO_COLOR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	steps := strings.Split(ts.ReadFile(args[0]), "\n")
	if size, ok := strings.CutPrefix(steps[0], "size "); ok {
		ts.Check(resize(slave, size))
		steps = steps[1:]
	}
	// however fast the program is, this is there before it asks
	if ahead, ok := strings.CutPrefix(steps[0], "send "); ok {
		master.WriteString(typed(ahead))
		steps = steps[1:]
	}
	ts.Check(cmd.Start())
	slave.Close()
	screen := newScreen(master)
	for _, line := range steps {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "expect":
			if !screen.expect(strings.ReplaceAll(rest, `\r`, "\r")) {
				cmd.Process.Kill()
				ts.Fatalf("the terminal never showed %q; it showed:\n%s", rest, screen.text())
			}
		case "send":
			master.WriteString(typed(rest))
		case "paste":
			paste(ts, master, rest)
		case "touch":
			ts.Check(os.WriteFile(strings.ReplaceAll(rest, "$CLAWSH_HOME", ts.Getenv("CLAWSH_HOME")), nil, 0o600))
		case "hangup":
			master.Close()
		}
	}
	err = waitFor20(cmd)
	select { // what was printed last may still be on its way
	case <-screen.ended:
	case <-time.After(5 * time.Second):
	}
	master.Close()
	ts.Check(os.WriteFile(ts.MkAbs("tty"), []byte(screen.text()), 0o600))
	ts.Logf("%s", screen.text())
	if (err != nil) != neg || errors.Is(err, errStuck) {
		ts.Fatalf("%v on the terminal: %v", args[1:], err)
	}
}

// paste types a text many times, in pieces. What the program does not wait for any more is lost.
func paste(ts *testscript.TestScript, master io.Writer, rest string) {
	count, text, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(count)
	ts.Check(err)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for piece := range slices.Chunk([]byte(strings.Repeat(typed(text), n)), 16) {
		if _, err := master.Write(piece); err != nil {
			return
		}
		<-tick.C
	}
}

// resize sets the rows and columns of a terminal.
func resize(f *os.File, size string) error {
	var ws unix.Winsize
	if _, err := fmt.Sscan(size, &ws.Row, &ws.Col); err != nil {
		return err
	}
	return unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &ws)
}

// typed is what a step types.
func typed(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\x03`, "\x03", `\x04`, "\x04", `\x7f`, "\x7f", `\x17`, "\x17",
		`\xcc\x81`, "\xcc\x81", `\e`, "\x1b").Replace(text)
}

func waitFor20(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		cmd.Process.Kill()
		return errStuck
	}
}

var errStuck = errors.New("still running after 30 s")

func openPTY() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	// not through Fd, which would make reads block so that not even Close ends them
	conn, err := master.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	n := 0
	ctlErr := conn.Control(func(fd uintptr) {
		if n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err == nil {
			err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	if err = errors.Join(ctlErr, err); err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	return master, slave, err
}

// screen collects what a terminal shows.
type screen struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	at    int
	more  chan struct{}
	ended chan struct{} // nobody has the terminal open any more, and all of it was read
}

func newScreen(f *os.File) *screen {
	s := &screen{more: make(chan struct{}, 1), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		b := make([]byte, 4096)
		for {
			n, err := f.Read(b)
			s.mu.Lock()
			s.buf.Write(b[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// expect waits until the text shows up behind what was expected before.
func (s *screen) expect(text string) bool {
	timeout := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		i := bytes.Index(s.buf.Bytes()[s.at:], []byte(text))
		if i >= 0 {
			s.at += i + len(text)
		}
		s.mu.Unlock()
		if i >= 0 {
			return true
		}
		select {
		case <-s.more:
		case <-timeout:
			return false
		}
	}
}
