package tool

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/process"
)

// madeUp is an interpreter that says what it wants: it gets a connection, and is over when it returns.
func madeUp(t *testing.T, env *Env, says func(in io.Reader, out io.Writer)) Result {
	t.Helper()
	env.Launch = func(ctx context.Context, l Launch) (out Launched, err error) {
		toR, toW, err := os.Pipe()
		must(t, err)
		fromR, fromW, err := os.Pipe()
		must(t, err)
		go func() {
			says(toR, fromW)
			fromW.Close()
			toR.Close()
		}()
		out.Serve(ctx, l, toW, fromR)
		out.Engine = "native"
		return out, errors.Join(toW.Close(), fromR.Close())
	}
	return sh(t, env, "echo made up")
}

func TestInterpreterCannotUndoARefusal(t *testing.T) {
	env := testEnv(t)
	env.Guard = func(_ context.Context, _, _ string, argv []string) error {
		if argv[0] == "/bin/forbidden" {
			return errors.New("it is forbidden")
		}
		return nil
	}
	ask := func(in io.Reader, out io.Writer, program string) reply {
		var r reply
		must(t, sendMessage(out, question{ID: 7, Kind: GuardExec, Dir: []byte("/"), Argv: [][]byte{[]byte(program)}}))
		must(t, receiveMessage(in, &r))
		return r
	}
	for name, c := range map[string]struct {
		says    func(in io.Reader, out io.Writer)
		want    string
		success bool
		denied  bool
	}{
		"a report": {func(in io.Reader, out io.Writer) {
			if r := ask(in, out, "/bin/true"); r.ID != 7 || r.Error != "" {
				t.Errorf("%+v", r)
			}
			sendMessage(out, question{Report: &Report{}})
		}, "", true, false},
		"success after a refusal": {func(in io.Reader, out io.Writer) {
			if r := ask(in, out, "/bin/forbidden"); r.Error != "it is forbidden" {
				t.Errorf("%+v", r)
			}
			sendMessage(out, question{Report: &Report{}})
		}, "denied: it is forbidden", false, true},
		"silence after a refusal": {func(in io.Reader, out io.Writer) { ask(in, out, "/bin/forbidden") },
			"denied: it is forbidden", false, true},
		"two reports": {func(_ io.Reader, out io.Writer) {
			sendMessage(out, question{Report: &Report{Status: 3}})
			sendMessage(out, question{Report: &Report{}})
		}, "exit status 3", false, false},
		"no report": {func(io.Reader, io.Writer) {}, "without a report", false, false},
		"half a report": {func(_ io.Reader, out io.Writer) { out.Write([]byte{0, 0, 1, 0, '{'}) },
			"without a report", false, false},
		"a question for none": {func(_ io.Reader, out io.Writer) { sendMessage(out, question{ID: 1, Kind: GuardExec}) },
			"nothing was named", false, true},
		"out of memory": {func(_ io.Reader,
			out io.Writer) {
			io.WriteString(out, "fatal error: runtime: out of memory\n")
		}, "more memory than allowed", false, false},
		"a report in words": {func(_ io.Reader, out io.Writer) { io.WriteString(out, `{"report":{"status":0}}`) },
			"without a report", false, false},
		"too long": {func(_ io.Reader,
			out io.Writer) {
			out.Write(binary.BigEndian.AppendUint32(nil, 200<<20))
		}, "without a report", false, false},
	} {
		r := madeUp(t, env, func(in io.Reader, out io.Writer) {
			var s Script
			must(t, receiveMessage(in, &s))
			c.says(in, out)
		})
		if r.Success != c.success || r.Denied != c.denied || !strings.Contains(r.Error, c.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// interpreted runs a script by an interpreter at the other end of two pipes.
func interpreted(t *testing.T, script Script, guard Guard) (Launched, string) {
	t.Helper()
	toR, toW, err := os.Pipe()
	must(t, err)
	fromR, fromW, err := os.Pipe()
	must(t, err)
	outR, outW, err := os.Pipe()
	must(t, err)
	go func() {
		if err := InterpretFor(toR, fromW, func(Script) Host {
			return Host{Output: outW, Start: func(cmd *exec.Cmd, _ bool) error { return process.Launch(cmd) }}
		}); err != nil {
			t.Error(err)
		}
		outW.Close()
		fromW.Close()
	}()
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		io.Copy(&out, outR)
		close(done)
	}()
	var l Launched
	l.Serve(t.Context(), Launch{Script: script, Guard: guard}, toW, fromR)
	<-done
	toW.Close()
	return l, out.String()
}

// The guard outside is asked for the very bytes that run, many at a time, and what it refuses does not happen.
func TestSecondLookFromInside(t *testing.T) {
	env := testEnv(t)
	script := Script{Workspace: env.Config.WorkspaceDir, Home: t.TempDir(), Path: []string{"/usr/bin", "/bin"},
		Environ: []string{"PATH=/usr/bin:/bin"}}
	var seen []string
	guard := func(_ context.Context, kind, _ string, argv []string) error {
		seen = append(seen, kind+" "+strings.Join(argv, "|"))
		if slices.Contains(argv, "no") || strings.HasSuffix(argv[0], "/no") {
			return errors.New("not today")
		}
		return nil
	}
	for src, want := range map[string]string{
		"x=a; /bin/echo $x$'\\xff'":                     "exec /bin/echo|a\xff",
		"f() { /bin/echo \"$@\"; }; f 'a b' ''":         "exec /bin/echo|a b|",
		"echo x > made; x=$(echo ma)de; cat < $x":       "open-read " + env.Config.WorkspaceDir + "/made",
		"/bin/true | /bin/true | /bin/true | /bin/true": "exec /bin/true",
		"[[ -e made ]]; echo *":                         "readdir " + env.Config.WorkspaceDir,
	} {
		seen, script.Command = nil, src
		l, out := interpreted(t, script, guard)
		if l.Report == nil || l.Report.Error != "" || l.Report.Status != 0 || l.Denied != nil ||
			!slices.Contains(seen, want) {
			t.Errorf("%s: %+v, asked %q, said %q", src, l, seen, out)
		}
	}
	for _, src := range []string{"x=n; /bin/echo ${x}o", "x=no; echo x > $x", "x=no; cat < $x", "[[ -e no ]]",
		"eval 'x=no; /bin/echo $x' | cat", "y=$(/bin/echo no)"} {
		script.Command = src + "; /bin/touch after"
		l, out := interpreted(t, script, guard)
		if l.Denied == nil || l.Report == nil || !l.Report.Refused || !strings.HasPrefix(l.Report.Error, "denied: ") {
			t.Errorf("%s: %+v, said %q", src, l, out)
		}
		if _, err := os.Stat(env.Config.WorkspaceDir + "/after"); err == nil {
			t.Errorf("%s: the rest ran", src)
		}
	}
}

// FuzzServe: whatever an interpreter says, what is refused stays refused, and nothing but a report is one.
func FuzzServe(f *testing.F) {
	var b bytes.Buffer
	sendMessage(&b, question{ID: 1, Kind: GuardExec, Dir: []byte("/"), Argv: [][]byte{[]byte("/bin/x")}})
	sendMessage(&b, question{Report: &Report{}})
	f.Add(b.Bytes())
	f.Add([]byte("fatal error: out of memory"))
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, said []byte) {
		asked := false
		var l Launched
		l.Serve(t.Context(),
			Launch{Guard: func(context.Context, string, string,
				[]string) error {
				asked = true
				return errors.New("no")
			}}, io.Discard, bytes.NewReader(said))
		if asked && l.Denied == nil || l.Report != nil && !bytes.Contains(said, []byte(`"report"`)) {
			t.Errorf("%q: %+v", said, l)
		}
	})
}

// An interpreter that a signal ended may have been signalled by anybody: no limit is named as the reason.
func TestSignalledInterpreterNamesNoLimit(t *testing.T) {
	for code, want := range map[int]string{137: "signal 9 (killed)", 139: "signal 11", 143: "signal 15",
		128: "exited with status 128", 1: "exited with status 1", 255: "exited with status 255"} {
		if got := (Launched{Code: code}).ending(); !strings.Contains(got, want) || strings.Contains(got, "memory") ||
			strings.Contains(got, "processor") {
			t.Errorf("%d: %s", code, got)
		}
	}
}
