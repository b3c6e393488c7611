package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"clawsh/lib/place"
	"clawsh/lib/sandbox"
)

// box is a sandbox that runs nothing: it tells what it is asked for, and ends when it is told.
type box struct {
	began chan sandbox.Adapt
	end   chan struct{}
	ran   atomic.Int32
	ended atomic.Int32
}

func (b *box) Run(ctx context.Context, a sandbox.Adapt, _ sandbox.Program, s sandbox.Streams) (sandbox.Exit,
	sandbox.Report, error) {
	b.ran.Add(1)
	defer b.ended.Add(1)
	b.began <- a
	select {
	case <-b.end:
		_, err := s.Stdout.Write([]byte("done"))
		return sandbox.Exit{Code: 3}, sandbox.Report{Engine: "box"}, err
	case <-ctx.Done():
		return sandbox.Exit{Killed: context.Cause(ctx).Error()}, sandbox.Report{Engine: "box"}, nil
	}
}

// serving is a server with such a sandbox, and the client that a test plays.
type serving struct {
	*peer
	box   *box
	homes string
	over  chan error
}

func serve(t testing.TB) *serving {
	t.Helper()
	o := newOptions(t)
	o.Config.Security.Sandbox = "auto"
	f, p := connection(t)
	c, err := newConn(f)
	must(t, err)
	s := &serving{peer: p, box: &box{began: make(chan sandbox.Adapt, 100), end: make(chan struct{})},
		homes: t.TempDir(), over: make(chan error, 1)}
	server := &server{Options: o, conn: c, homes: s.homes, sandbox: s.box, running: map[int]context.CancelFunc{}}
	go func() { s.over <- server.serve(t.Context()) }()
	return s
}

// finish ends the client, and returns how the server has ended. All that it ran has ended before.
func (s *serving) finish() error {
	s.conn.close()
	err := <-s.over
	if n, ended := s.box.ran.Load(), s.box.ended.Load(); n != ended {
		s.t.Errorf("%d scripts began, %d ended", n, ended)
	}
	return err
}

// home makes a private home.
func (s *serving) home(name string) string {
	s.t.Helper()
	dir := filepath.Join(s.homes, name)
	must(s.t, os.Mkdir(dir, 0o700))
	return dir
}

func TestServerRunsAScript(t *testing.T) {
	s := serve(t)
	passed, kept := pipes(t, 3)
	home := s.home("one")
	s.send(Request{ID: 5, Script: true, Adapt: sandbox.Adapt{Home: home, ReadOnly: true}}, passed...)
	a := <-s.box.began
	info, err := os.Stat(home)
	must(t, err)
	if a.Home != home || a.HomeID != place.Identity(info) || !a.Self || !a.ReadOnly {
		t.Errorf("asked for %+v", a)
	}
	closeAll(passed)
	close(s.box.end)
	if r := s.reply(); r.ID != 5 || r.Exit.Code != 3 || r.Report == nil || r.Report.Engine != "box" || r.Error != "" {
		t.Errorf("%+v", r)
	}
	if said, err := io.ReadAll(kept[1]); string(said) != "done" || err != nil { // and the server has closed its end
		t.Errorf("it said %q, %v", said, err)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
}

// Several at a time, each of which is cancelled by itself; what is cancelled after its end, or never was, is nothing.
func TestServerCancels(t *testing.T) {
	s := serve(t)
	for id := range 3 {
		passed, _ := pipes(t, 3)
		s.send(Request{ID: id, Script: true}, passed...)
		<-s.box.began
	}
	for _, id := range []int{1, 0, 2} {
		s.send(Request{ID: 77, Cancel: true})
		s.send(Request{ID: id, Cancel: true})
		if r := s.reply(); r.ID != id || r.Exit.Killed != context.Canceled.Error() {
			t.Errorf("%+v", r)
		}
		s.send(Request{ID: id, Cancel: true})
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
}

// When the client dies, in the middle of whatever, that is the end of everything that runs, and nothing to complain of.
func TestServerEndsWithItsClient(t *testing.T) {
	whole := frame(`{"id":2,"script":true}`)
	for cut := range len(whole) {
		s := serve(t)
		passed, kept := pipes(t, 3)
		s.send(Request{ID: 1, Script: true}, passed...)
		<-s.box.began
		if cut > 0 {
			more, _ := pipes(t, 3)
			s.write(whole[:cut], more...)
		}
		if err := s.finish(); err != nil || s.box.ran.Load() != 1 {
			t.Errorf("after %d bytes: %v, %d scripts", cut, err, s.box.ran.Load())
		}
		nobodyHas(t, passed, kept)
	}
}

// After what no client sends nothing is read any more, and everything that runs is ended.
func TestServerTakesNoNonsense(t *testing.T) {
	for name, text := range map[string]string{
		"text": "GET / HTTP/1.1\r\n\r\n", "too long": "\x01\x00\x00\x01{}", "as long as can be": "\xff\xff\xff\xff",
		"nothing": frame(""), "blanks": frame("   "),
		"no JSON": frame("{"), "a list": frame("[]"), "null and more": frame("null null"),
		"an unknown field": frame(`{"id":2,"program":"/bin/sh"}`), "a doubled field": frame(`{"id":2,"id":3}`),
		"another letter case": frame(`{"ID":2}`), "another type": frame(`{"id":"2"}`),
		"its own program":                frame(`{"id":2,"script":true,"adapt":{"self":false}}`),
		"the identity of a home":         frame(`{"id":2,"script":true,"adapt":{"home_id":"1:1"}}`),
		"a number that runs":             frame(`{"id":1,"script":true}`),
		"a number that runs, for a tool": frame(`{"id":1,"tool":"memory_search"}`),
	} {
		s := serve(t)
		first, kept := pipes(t, 3)
		s.send(Request{ID: 1, Script: true}, first...)
		<-s.box.began
		second, more := pipes(t, 3)
		s.write(text+frame(`{"id":9,"script":true}`), second...)
		err := <-s.over
		s.over <- err
		var nonsense ProtocolError
		if s.finish(); !errors.As(err, &nonsense) || s.box.ran.Load() != 1 {
			t.Errorf("%s: %v, %d scripts", name, err, s.box.ran.Load())
		}
		nobodyHas(t, append(first, second...), append(kept, more...))
	}
}

// The kernel passes up to 253 files with a message. Three are what a script comes with.
func TestServerTakesThreePipes(t *testing.T) {
	for n := range 254 {
		if n > 12 && n%60 != 0 && n < 250 {
			continue
		}
		s := serve(t)
		passed, kept := pipes(t, n)
		s.send(Request{ID: 1, Script: true}, passed...)
		var nonsense ProtocolError
		switch {
		case n == 3:
			<-s.box.began
			s.finish()
		case n < 3:
			if r := s.reply(); !strings.Contains(r.Error, "open files") {
				t.Errorf("%d files: %+v", n, r)
			}
			s.finish()
		default:
			if err := <-s.over; !errors.As(err, &nonsense) {
				t.Errorf("%d files: %v", n, err)
			}
		}
		if ran := s.box.ran.Load(); (ran == 1) != (n == 3) {
			t.Errorf("%d files: %d scripts", n, ran)
		}
		nobodyHas(t, passed, kept)
	}
}

// An open directory, or what leads to another program, would be a way out of the sandbox.
func TestServerPassesPipesAlone(t *testing.T) {
	for _, name := range []string{"/", "/dev/null", "/etc/hosts", "socket"} {
		for at := range 3 {
			s := serve(t)
			passed, _ := pipes(t, 3)
			var f *os.File
			var err error
			if f, err = os.Open(name); name == "socket" {
				f, err = s.conn.socket.File()
			}
			must(t, err)
			passed[at] = f
			s.send(Request{ID: 1, Script: true}, passed...)
			if r := s.reply(); !strings.Contains(r.Error, "not a pipe") {
				t.Errorf("%s as file %d: %+v", name, at, r)
			}
			f.Close()
			if err := s.finish(); err != nil || s.box.ran.Load() != 0 {
				t.Errorf("%s as file %d: %v, it ran", name, at, err)
			}
		}
	}
}

// Programs may write to their home. So it is one that was made for that: not what a client names that was taken over.
func TestServerGivesOnlyHomes(t *testing.T) {
	s := serve(t)
	outside := t.TempDir()
	good := s.home("good")
	must(t, os.Symlink(outside, filepath.Join(s.homes, "link")))
	must(t, os.WriteFile(filepath.Join(s.homes, "file"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(good, "deeper"), 0o700))
	beside := s.homes + "-beside"
	must(t, os.Mkdir(beside, 0o700))
	for i, dir := range []string{outside, "/", "/etc", s.homes, filepath.Dir(s.homes), s.homes + "/", s.homes + "/.",
		s.homes + "/..", s.homes + "/good/..", s.homes + "/good/../../..",
		s.homes + "/link", s.homes + "/link/", s.homes + "/link/.", s.homes + "/file", s.homes + "/good/deeper",
		s.homes + "/missing", "good", "./good", ".", " ",
		beside, s.homes + "\x00", good + "\x00", good + "/", "//" + good, good + "/."} {
		passed, kept := pipes(t, 3)
		s.send(Request{ID: i, Script: true, Adapt: sandbox.Adapt{Home: dir}}, passed...)
		if r := s.reply(); !strings.Contains(r.Error, "private home") || s.box.ran.Load() != 0 {
			t.Fatalf("%q: %+v", dir, r)
		}
		nobodyHas(t, passed, kept)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
}

// What a client may do itself, and what there is not, is not run for it; the files of such a request are closed.
func TestServerRunsNoOtherTools(t *testing.T) {
	s := serve(t)
	for i, name := range []string{"", "nosuch", "shell", "file_read", "file_write", "time", "ask_user", "http ",
		"HTTP", "broker", "../http"} {
		passed, kept := pipes(t, 2)
		s.send(Request{ID: i, Tool: name, Args: []byte(`{}`)}, passed...)
		if r := s.reply(); r.ID != i || !strings.Contains(r.Error, "does not run") || r.Result != nil {
			t.Errorf("%s: %+v", name, r)
		}
		nobodyHas(t, passed, kept)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
}

// A client asks one thing after the other. One that asks for many at a time gets none of them.
func TestServerIsNotFlooded(t *testing.T) {
	s := serve(t)
	for id := range maxRunning {
		passed, _ := pipes(t, 3)
		s.send(Request{ID: id, Script: true}, passed...)
		<-s.box.began
	}
	passed, kept := pipes(t, 3)
	s.send(Request{ID: 100, Script: true}, passed...)
	var nonsense ProtocolError
	if err := <-s.over; !errors.As(err, &nonsense) || s.box.ran.Load() != maxRunning ||
		s.box.ended.Load() != maxRunning {
		t.Errorf("%v, %d scripts, %d ended", err, s.box.ran.Load(), s.box.ended.Load())
	}
	nobodyHas(t, passed, kept)
}

// Without a sandbox nothing is run, and it is said why.
func TestServerWithoutASandbox(t *testing.T) {
	o := newOptions(t)
	o.Config.Security.Sandbox = "auto"
	for _, s := range []*server{
		{Options: o, unavailable: errors.New("the limit cpus is not set")},
		{Options: o, sandbox: refusing{&sandbox.Unavailable{Mode: "auto",
			Reasons: []string{"the limit cpus is not set"}}}},
	} {
		passed, _ := pipes(t, 3)
		if r := s.script(t.Context(), Request{Script: true}, passed); !r.Refused || !strings.Contains(r.Error,
			"cpus") || r.Report != nil {
			t.Errorf("%+v", r)
		}
	}
	s := &server{Options: o, sandbox: refusing{fmt.Errorf("fork: %w", os.ErrPermission)}}
	passed, _ := pipes(t, 3)
	if r := s.script(t.Context(), Request{Script: true}, passed); r.Refused || !strings.Contains(r.Error, "fork") ||
		r.Report == nil {
		t.Errorf("%+v", r)
	}
}

type refusing struct{ err error }

func (r refusing) Run(context.Context, sandbox.Adapt, sandbox.Program, sandbox.Streams) (sandbox.Exit, sandbox.Report,
	error) {
	return sandbox.Exit{}, sandbox.Report{}, r.err
}
