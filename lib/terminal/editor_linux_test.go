package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	master = open("/dev/ptmx")
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, open(fmt.Sprintf("/dev/pts/%d", n))
}

// TestEditorLeave: at whatever moment somebody leaves an editor, also before its line is begun, the terminal is as it
// was, then and afterwards. What signals may do at the start of a conversation is this.
func TestEditorLeave(t *testing.T) {
	master, slave := openPTY(t)
	settings := func() unix.Termios {
		got, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *got
	}
	before := settings()
	for n := range 300 {
		e := &Editor{In: slave, Out: io.Discard, Size: func() int { return 80 }}
		var read sync.WaitGroup
		switch n % 3 {
		case 0: // left before
			e.Leave()
			if _, err := e.ReadLine("> "); err != io.EOF {
				t.Fatalf("round %d: a line was read from an editor that was left: %v", n, err)
			}
		case 1: // left meanwhile, at any moment
			read.Go(func() { e.ReadLine("> ") })
			e.Leave()
		case 2: // left twice
			read.Go(func() { e.ReadLine("> ") })
			e.Leave()
			e.Leave()
		}
		io.WriteString(master, "\r") // whoever reads still, reads this
		read.Wait()
		if got := settings(); got != before {
			t.Fatalf("round %d: the terminal is not as it was: %+v, not %+v", n, got, before)
		}
		unix.IoctlSetInt(int(slave.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}
