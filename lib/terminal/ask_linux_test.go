package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/test/need"
)

// TestMain asks questions in a child of its own, which has a pseudo-terminal, or none, as its controlling terminal.
// SIGUSR1 cancels the question.
func TestMain(m *testing.M) {
	mode := os.Getenv("TERMINAL_TEST")
	if mode == "" {
		os.Exit(m.Run())
	}
	signal.Ignore(syscall.SIGHUP)
	ctx, stop := context.WithTimeoutCause(context.Background(), 20*time.Second, errors.New("test timed out"))
	defer stop()
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGUSR1)
	defer cancel()
	fmt.Println("ready")
	if mode == "line" {
		text, err := AskText(ctx, "Sure? ", 10)
		fmt.Printf("answer: %q %v\n", text, err)
		return
	}
	yes, err := Confirm(ctx, "Sure? ")
	fmt.Println("answer:", yes, err)
	if mode == "twice" {
		yes, err := Confirm(context.Background(), "Really? ")
		fmt.Println("answer:", yes, err)
	}
}

// pty is a pseudo-terminal; master is the keyboard and the screen.
type pty struct {
	t             *testing.T
	master, slave *os.File
	screen        *bufio.Reader
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		need.Skip(t, need.Terminal, "no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	master.SetDeadline(time.Now().Add(15 * time.Second))
	conn, err := master.SyscallConn() // Fd would take the deadline away
	if err != nil {
		t.Fatal(err)
	}
	var n int
	conn.Control(func(fd uintptr) {
		n, _ = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
	})
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return &pty{t, master, slave, bufio.NewReader(master)}
}

// asker is a child that asks.
type asker struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Reader
}

// start starts a child that has the terminal for its own.
func (p *pty) start(mode string) *asker {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Stdin = p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return spawn(p.t, cmd, mode)
}

func spawn(t *testing.T, cmd *exec.Cmd, mode string) *asker {
	t.Helper()
	cmd.Env = append(os.Environ(), "TERMINAL_TEST="+mode)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	a := &asker{t, cmd, bufio.NewReader(out)}
	if got, err := a.out.ReadString('\n'); got != "ready\n" {
		t.Fatalf("the child did not start: %q, %v", got, err)
	}
	return a
}

// shows reads the screen up to the text, and returns all of that.
func (p *pty) shows(text string) string {
	p.t.Helper()
	var shown []byte
	for !strings.HasSuffix(string(shown), text) {
		c, err := p.screen.ReadByte()
		if err != nil {
			p.t.Fatalf("want %q on the screen, is %q: %v", text, shown, err)
		}
		shown = append(shown, c)
	}
	return string(shown)
}

func (p *pty) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		p.t.Fatal(err)
	}
}

// says checks the next line that the child says.
func (a *asker) says(want string) {
	a.t.Helper()
	got, err := a.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(got, "answer: "+want) {
		a.t.Errorf("got %q, want %q (%v)", got, want, err)
	}
}

func TestConfirm(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"y", "", "y\n", "true <nil>"},
		{"Y", "", "Y\n", "true <nil>"},
		{"yes", "", " yEs \n", "true <nil>"},
		{"carriage return", "", "y\r", "true <nil>"},
		{"corrected", "", "n\x7fy\n", "true <nil>"},
		{"n", "", "n\n", "false <nil>"},
		{"empty", "", "\n", "false <nil>"},
		{"yep", "", "yep\n", "false <nil>"},
		{"yy", "", "yy\n", "false <nil>"},
		{"y and more", "", "y n\n", "false <nil>"},
		{"second line", "", "n\ny\n", "false <nil>"},
		{"yes, then a line", "", "y\nn\n", "false <nil>"},
		{"yes twice", "", "y\ny\n", "false <nil>"},
		{"yes, then the beginning of a line", "", "y\nt", "false <nil>"},
		{"yes, then an empty line", "", "y\n\n", "false <nil>"},
		{"other script", "", "ｙ\n", "false <nil>"},
		{"end of input", "", "\x04", "false <nil>"},
		{"yes without newline", "", "y\x04\x04", "false <nil>"},
		{"typed ahead", "y\ny\nyes\n", "\n", "false <nil>"},
		{"typed ahead in part", "y", "\n", "false <nil>"},
		{"long", "", strings.Repeat("y", 100) + "\n", "false the answer is longer than 64 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPTY(t)
			p.types(c.before)
			p.shows(strings.ReplaceAll(c.before, "\n", "\r\n")) // its echo: it has arrived
			a := p.start("confirm")
			p.shows("Sure? ")
			p.types(c.after)
			a.says(c.want)
		})
	}
}

func TestAskText(t *testing.T) {
	for in, want := range map[string]string{
		"some text\n": `"some text" <nil>`, "\n": `"" <nil>`, "cut\x04\x04": `"cut" <nil>`, "\x04": `"" <nil>`,
		"0123456789\n":  `"0123456789" <nil>`,
		"0123456789a\n": `"" the answer is longer`, "é\n": `"é" <nil>`,
	} {
		p := newPTY(t)
		a := p.start("line")
		p.shows("Sure? ")
		p.types(in)
		a.says(want)
	}
}

func TestHangup(t *testing.T) {
	p := newPTY(t)
	a := p.start("confirm")
	p.shows("Sure? ")
	p.types("y")
	p.master.Close()
	a.says("false wait for an answer: " + errClosed.Error())
}

// A cancelled question ends at once, what was typed for it does not answer the next one, and no reader stays behind.
func TestCancel(t *testing.T) {
	p := newPTY(t)
	a := p.start("twice")
	p.shows("Sure? ")
	p.types("ye")
	a.cmd.Process.Signal(syscall.SIGUSR1)
	a.says("false wait for an answer: ")
	p.shows("Really? ")
	p.types("y\n")
	a.says("true <nil>")
}

// own is a terminal as a question has it, without being the controlling one.
func (p *pty) own() *tty {
	p.t.Helper()
	fd, err := unix.Open(p.slave.Name(), unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	t := &tty{fd: fd, lock: -1}
	p.t.Cleanup(t.close)
	return t
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// On a terminal that is stopped (^S) not even the question can be shown.
func TestCancelOnStoppedTerminal(t *testing.T) {
	p := newPTY(t)
	const off = 0 // TCOOFF
	if err := unix.IoctlSetInt(int(p.slave.Fd()), unix.TCXONC, off); err != nil {
		t.Fatal(err)
	}
	if err := p.own().write(soon(t), "Sure? "); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// Another reader that is quicker must not leave us in a read that nothing ends.
func TestReadDoesNotBlock(t *testing.T) {
	if _, err := newPTY(t).own().read(soon(t), make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A program that died has left the terminal in raw mode: no newline would ever come.
func TestRawTerminal(t *testing.T) {
	p := newPTY(t)
	raw, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Iflag &^= unix.ICRNL
	unix.IoctlSetTermios(int(p.slave.Fd()), unix.TCSETS, raw)
	p.types("y\r\ny\n")
	a := p.start("confirm")
	p.shows("Sure? ")
	p.types("n\x7fyes\r")
	a.says("true <nil>")
	a.cmd.Wait()
	if now, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS); err != nil || *now != *raw {
		t.Errorf("the terminal's mode was not restored: %v", err)
	}
}

func TestOneQuestionAtATime(t *testing.T) {
	p, other := newPTY(t), newPTY(t)
	first, second := p.own(), p.own()
	if err := first.exclude(soon(t)); err != nil || first.lock < 0 {
		t.Fatalf("lock %d, %v", first.lock, err)
	}
	if err := second.exclude(soon(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two questions at once: %v", err)
	}
	if err := other.own().exclude(soon(t)); err != nil {
		t.Errorf("another terminal: %v", err)
	}
	unix.Close(first.lock)
	first.lock = -1
	if err := second.exclude(t.Context()); err != nil {
		t.Errorf("behind the first: %v", err)
	}
}

// Questions on other terminals are nobody's business.
func TestTwoTerminals(t *testing.T) {
	p, q := newPTY(t), newPTY(t)
	a, b := p.start("confirm"), q.start("confirm")
	p.shows("Sure? ")
	q.shows("Sure? ")
	q.types("n\n")
	b.says("false <nil>")
	p.types("y\n")
	a.says("true <nil>")
}

// The device is found from /dev/tty, too, and a question waits for the one that holds it.
func TestQuestionWaitsForAnother(t *testing.T) {
	p := newPTY(t)
	another := p.own()
	if err := another.exclude(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := p.start("confirm")
	p.types("y\n")
	shown := p.shows("y\r\n") // before the process ends: what nobody has read by then, the hangup throws away
	a.cmd.Process.Signal(syscall.SIGUSR1)
	a.says("false ")
	io.WriteString(p.slave, "end")
	if shown += p.shows("end"); shown != "y\r\nend" {
		t.Errorf("more than the echo was shown: %q", shown)
	}
}

func TestNoTerminal(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	spawn(t, cmd, "confirm").says("false " + ErrNoTerminal.Error())
}
