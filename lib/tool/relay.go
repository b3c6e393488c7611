package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// sink is where all of a command's output goes. It is not a file, so that no program gets the interpreter's own
// description of it, whose mode it could change, or which it could open again to read. Output that is not taken ends
// the command.
type sink struct {
	to   io.Writer
	halt func(error) error
}

func (o *sink) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return n, o.halt(fmt.Errorf("stopped: its output could not be written: %w", err))
	}
	return n, nil
}

// relayGrace is how long a program's output is read on when it has ended, and something that it left keeps the pipe
// open; relayRest bounds what is read then: the largest pipe.
const (
	relayGrace = 200 * time.Millisecond
	relayRest  = 1 << 20
)

// relay copies the output of one program from a pipe that only this program has.
type relay struct {
	to   io.Writer
	r, w *os.File
	done chan struct{}
}

type relays []*relay

// file is what a program writes to instead of w: a file as it is, else a pipe, one for each w.
func (rs *relays) file(w io.Writer) (*os.File, error) {
	if s, ok := w.(stream); ok {
		w = s.w
	}
	if f, ok := w.(*os.File); ok {
		return f, nil
	}
	for _, r := range *rs {
		if r.to == w {
			return r.w, nil
		}
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("connect a program: %w", err)
	}
	r := &relay{to: w, r: pr, w: pw, done: make(chan struct{})}
	*rs = append(*rs, r)
	go r.copy()
	return pw, nil
}

// started gives up our end for writing: the output ends with the program.
func (rs relays) started() {
	for _, r := range rs {
		r.w.Close()
	}
}

// finish returns when all that the program has written is where it belongs.
func (rs relays) finish() {
	rs.started()
	for _, r := range rs {
		r.r.SetReadDeadline(time.Now().Add(relayGrace))
		<-r.done
	}
}

func (r *relay) copy() {
	defer close(r.done)
	defer r.r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.r.Read(buf)
		if n > 0 {
			if _, err := r.to.Write(buf[:n]); err != nil {
				return
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.rest(buf)
		}
		if err != nil {
			return
		}
	}
}

// rest copies what is in the pipe already.
func (r *relay) rest(buf []byte) {
	r.r.SetReadDeadline(time.Time{})
	c, err := r.r.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < relayRest; {
		n := 0
		c.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		total += n
		if _, err := r.to.Write(buf[:n]); err != nil {
			return
		}
	}
}
