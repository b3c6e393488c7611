package broker

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/sandbox"
)

// TestMain is claw-exec where it starts itself: as an interpreter, or as a server whose configuration is a directory
// with a home and a workspace.
func TestMain(m *testing.M) {
	sandbox.Enter(os.Args)
	mine, err := Interpret(os.Args)
	switch {
	case mine:
	case len(os.Args) > 2 && os.Args[1] == ServeCommand:
		o := testOptions(filepath.Dir(os.Getenv("CLAWSH_HOME")))
		o.Environ = os.Environ()
		err = Serve(context.Background(), o, os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == FetchCommand:
		os.Exit(fetched(testOptions(filepath.Dir(os.Getenv("CLAWSH_HOME")))))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// testOptions are those of a configuration in a directory, without a sandbox.
func testOptions(dir string) Options {
	cfg := config.Default(filepath.Join(dir, "home"))
	cfg.WorkspaceDir = filepath.Join(dir, "workspace")
	cfg.Security.Sandbox, cfg.Sandbox.Cache = sandbox.Off, false
	return Options{Config: cfg, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
}

func newOptions(t testing.TB) Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range []string{"home", "workspace"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	return testOptions(dir)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// connection is a real pair of sockets: one end for what is tested, the other for a peer that the test plays.
func connection(t testing.TB) (*os.File, *peer) {
	t.Helper()
	ours, theirs, err := process.Socketpair()
	must(t, err)
	c, err := newConn(theirs)
	must(t, err)
	t.Cleanup(c.close)
	t.Cleanup(func() { ours.Close() })
	return ours, &peer{t: t, conn: c}
}

// peer is the other side of a connection: it says what it wants.
type peer struct {
	t    testing.TB
	conn *conn
}

// write sends bytes as they are, with files.
func (p *peer) write(text string, files ...*os.File) {
	p.t.Helper()
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unixRights(fds)
	}
	n, _, err := p.conn.socket.WriteMsgUnix([]byte(text), rights, nil)
	if err == nil && n < len(text) {
		_, err = p.conn.socket.Write([]byte(text[n:]))
	}
	must(p.t, err)
}

// hangUp says that nothing more comes, and still listens.
func (p *peer) hangUp() { must(p.t, p.conn.socket.CloseWrite()) }

func (p *peer) send(v any, files ...*os.File) {
	p.t.Helper()
	must(p.t, p.conn.send(v, files...))
}

func (p *peer) request() Request {
	p.t.Helper()
	var r Request
	files, err := p.conn.receive(&r, scriptPipes)
	must(p.t, err)
	closeAll(files)
	return r
}

func (p *peer) reply() Reply {
	p.t.Helper()
	var r Reply
	_, err := p.conn.receive(&r, 0)
	must(p.t, err)
	return r
}

// frame is a message as it is on the wire.
func frame(text string) string {
	n := len(text)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + text
}

// pipes are n pipes, and what of them is passed: writing ends, whose being closed by everybody can be seen at the
// others.
func pipes(t testing.TB, n int) (passed, kept []*os.File) {
	t.Helper()
	for range n {
		r, w, err := os.Pipe()
		must(t, err)
		t.Cleanup(func() { r.Close(); w.Close() })
		passed, kept = append(passed, w), append(kept, r)
	}
	return passed, kept
}

// nobodyHas fails if anybody still has the passed ends of such pipes. The test's own ones are closed.
func nobodyHas(t testing.TB, passed, kept []*os.File) {
	t.Helper()
	closeAll(passed)
	for _, r := range kept {
		if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
	}
}

func mentions(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

// fetched is the child: the real one, or one that a test wants.
func fetched(o Options) (code int) {
	switch os.Getenv("CLAWSH_TEST_FETCH") {
	case "die":
		return 7
	case "garbage":
		os.Stdout.WriteString("panic: runtime error")
	case "half":
		os.Stdout.WriteString(`{"Success":true,"Output":"ha`)
	case "fail":
		os.Stdout.WriteString(`{"Success":true,"Denied":false,"Output":"x","Error":"","Meta":{}}`)
		return 9
	case "flood":
		io.CopyN(os.Stdout, zeros{}, maxFetch+1)
	default:
		if Fetch(context.Background(), o, os.Args[2], os.Stdin, os.Stdout) != nil {
			return 1
		}
	}
	return 0
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
