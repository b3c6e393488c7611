package broker

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"clawsh/lib/record"
)

func unixRights(fds []int) []byte { return syscall.UnixRights(fds...) }

// Messages arrive whole and in order, with their files, however large they are: the kernel takes a large one in parts.
func TestConnCarriesMessagesAndFiles(t *testing.T) {
	f, p := connection(t)
	c, err := newConn(f)
	must(t, err)
	passed, kept := pipes(t, 3)
	texts := []string{"", "short", strings.Repeat("x", 3<<20), "after"}
	go func() {
		for i, text := range texts {
			files := passed[:min(i, 3)]
			p.send(Request{ID: i, Tool: text}, files...)
		}
		p.conn.close()
		closeAll(passed)
	}()
	for i, text := range texts {
		var r Request
		files, err := c.receive(&r, scriptPipes)
		if err != nil || r.ID != i || r.Tool != text || len(files) != min(i, 3) {
			t.Fatalf("message %d: %v, %d files, id %d, %d bytes", i, err, len(files), r.ID, len(r.Tool))
		}
		closeAll(files)
	}
	if _, err := c.receive(&Request{}, scriptPipes); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	nobodyHas(t, nil, kept)
}

// What is too long is not sent, and what comes next is understood.
func TestConnSendsNothingTooLong(t *testing.T) {
	f, p := connection(t)
	c, err := newConn(f)
	must(t, err)
	var long record.TooLongError
	if err := c.send(Request{Tool: strings.Repeat("x", maxMessage)}); !errors.As(err, &long) {
		t.Errorf("%v", err)
	}
	must(t, c.send(Request{ID: 7}))
	if r := p.request(); r.ID != 7 {
		t.Errorf("%+v", r)
	}
}

func TestConnIsASocket(t *testing.T) {
	passed, _ := pipes(t, 1)
	if c, err := newConn(passed[0]); err == nil {
		t.Errorf("%v over a pipe", c)
	}
}

// FuzzConn: whatever comes, in whichever pieces and with whichever files, is what a reader of bytes would make of it;
// of files there are at most as many as may be, and none stays open where there is an error.
func FuzzConn(f *testing.F) {
	for i, seed := range []string{"", "\x00", "\x00\x00\x00\x02{}", frame(`{"id":1,"cancel":true}`),
		frame(`{"id":1,"script":true,"adapt":{"home":"/x"}}`) + "\x00\x00",
		frame(`{"id":1,"self":true}`), frame(`{"id":1}`) + frame(`{"id":2}`), "\xff\xff\xff\xff{}",
		"GET / HTTP/1.1\r\n"} {
		for files := range uint8(6) {
			f.Add([]byte(seed), uint8(i), files)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, cut, count uint8) {
		if len(data) == 0 || len(data) > 1<<16 {
			return
		}
		end, p := connection(t)
		c, err := newConn(end)
		must(t, err)
		defer c.close()
		passed, kept := pipes(t, int(count%20))
		first := 1 + int(cut)%len(data)
		p.write(string(data[:first]), passed...)
		if first < len(data) {
			p.write(string(data[first:]))
		}
		p.conn.close()
		var got, want Request
		files, err := c.receive(&got, scriptPipes)
		wantErr := readFrame(bytes.NewReader(data), &want)
		var nonsense ProtocolError
		switch {
		case len(passed) > scriptPipes && (!errors.As(err, &nonsense) || len(files) > 0):
			t.Errorf("%d files: %d, %v", len(passed), len(files), err)
		case len(passed) <= scriptPipes && (err == nil) != (wantErr == nil):
			t.Errorf("%v, not %v", err, wantErr)
		case err == nil && !same(got, want), err == nil && len(files) != len(passed):
			t.Errorf("%+v with %d files, not %+v with %d", got, len(files), want, len(passed))
		case err != nil && err != io.ErrUnexpectedEOF && !errors.As(err, &nonsense):
			t.Errorf("%v", err)
		}
		closeAll(files)
		nobodyHas(t, passed, kept)
	})
}

func same(a, b any) bool {
	x, err := record.Encode(a)
	y, bad := record.Encode(b)
	return err == nil && bad == nil && bytes.Equal(x, y)
}
