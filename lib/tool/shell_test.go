package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

type command struct {
	Command  string   `json:"command"`
	TimeoutS *float64 `json:"timeout_s,omitzero"`
}

func sh(t *testing.T, env *Env, src string) Result {
	t.Helper()
	return call(t, env, "shell", command{Command: src})
}

func TestShellRuns(t *testing.T) {
	env := testEnv(t)
	put(t, env, "sub/f.txt", "hello\n")
	put(t, env, "script", "#!/bin/sh\necho script $1\n")
	put(t, env, "plain", "echo no\n")
	ws := env.Config.WorkspaceDir
	must(t, os.Chmod(ws+"/script", 0o755))
	must(t, os.Chmod(ws+"/plain", 0o755))
	for _, c := range []struct {
		src, out string
		code     int
	}{
		{"true", "", 0},
		{"/bin/true", "", 0},
		{"pwd", ws + "\n", 0},
		{"/bin/pwd", ws + "\n", 0},
		{"cd sub; /bin/pwd; cat f.txt", ws + "/sub\nhello\n", 0},
		{"echo a; echo b >&2; /bin/echo c; /bin/sh -c 'echo d >&2'", "a\nb\nc\nd\n", 0},
		{"cat sub/*.txt | tr a-z A-Z | wc -c | tr -d ' '", "6\n", 0},
		{"for i in 1 2; do echo $i; done > out; cat < out", "1\n2\n", 0},
		{"echo x >> log; echo y >> log; cat " + ws + "/log", "x\ny\n", 0},
		{"echo " + ws + "/sub/*", ws + "/sub/f.txt\n", 0},
		{"cat <<E\n$((6*7))\nE", "42\n", 0},
		{"echo x > /dev/null; cat < /dev/null; echo e > /dev/stderr", "e\n", 0},
		{"cat", "", 0},
		{"f() { echo \"f $1\"; }; f x; eval 'echo y'; trap 'echo bye' EXIT", "f x\ny\nbye\n", 0},
		{"x=$(cat sub/f.txt); echo \"[$x]\"; test -f sub/f.txt && echo yes", "[hello]\nyes\n", 0},
		{"echo hi > $TMPDIR/f && cat < $TMPDIR/f && cat $TMPDIR/f && cd && ls", "hi\nhi\nf\n", 0},
		{"./script arg", "script arg\n", 0},
		{"exit 3", "", 3},
		{"echo out; /bin/sh -c 'exit 7'", "out\n", 7},
		{"false | true", "", 0},
		{"/bin/sh -c 'kill -9 $$'", "", 137},
		{"/bin/sh -c 'kill -TERM $$'", "", 143},
		{"no-such-program", "no-such-program: command not found\n", 127},
		{"./absent", "./absent: no such file or directory\n", 127},
		{"./sub", "./sub: it is a directory, not a regular file\n", 127},
		{"./sub/f.txt", "./sub/f.txt: permission denied\n", 126},
		{"./plain", "./plain: is neither a program nor a script with an interpreter line\n", 126},
		{"no-such-program || echo next", "no-such-program: command not found\nnext\n", 0},
	} {
		r := sh(t, env, c.src)
		want := fmt.Sprintf("exit status %d", c.code)
		if c.code == 0 {
			want = ""
		}
		if r.Output != c.out || r.Success != (c.code == 0) || r.Error != want || r.Meta.ExitCode == nil ||
			*r.Meta.ExitCode != c.code || r.Meta.Sandbox != "interpreter" {
			t.Errorf("%q: %+v", c.src, r)
		}
	}
}

func TestShellRefusesBeforeAnythingRan(t *testing.T) {
	env := testEnv(t)
	for src, want := range map[string]string{
		"":                             "empty",
		" \n\t":                        "empty",
		"touch ran; if":                "syntax error",
		"touch ran; echo 'x":           "syntax error",
		"touch ran; sleep 1 & wait":    "background",
		"touch ran; (sleep 1 &)":       "background",
		"touch ran; coproc cat":        "coproc",
		"touch ran; cat <(echo x)":     "process substitution",
		"touch ran; echo >(cat)":       "process substitution",
		"touch ran; exec 3>x":          "descriptors",
		"touch ran; echo x >| y":       "redirection",
		"touch ran; cat <> y":          "redirection",
		"touch ran; mapfile <&- | cat": "redirection",
		"touch ran\x00":                "U+0000",
		"touch ran; ls\rrm x":          "U+000D",
		"touch ran \u202e":             "U+202E",
		"touch ran \u200b":             "U+200B",
		"touch ran \u2028":             "U+2028",
		"touch ran; " + strings.Repeat("(", 101) + strings.Repeat(")", 101):   "nests",
		"touch ran; echo " + strings.Repeat("$(", 101):                        "nests",
		"touch ran; echo " + strings.Repeat("${x:-", 101):                     "nests",
		"touch ran; echo " + strings.Repeat("x", 64<<10):                      "limit",
		"touch ran; :(){ :|:& };:":                                            "background",
		"touch ran; echo " + strings.Repeat(`$( ")" `, 9000) + "#":            "syntax error",
		"touch ran; " + strings.Repeat("if ", 21000):                          "syntax error",
		"touch ran; " + strings.Repeat("f() ", 16000):                         "syntax error",
		"touch ran; " + strings.Repeat("case x in x) ", 5000) + "\ntouch ran": "syntax error",
	} {
		if r := sh(t, env, src); r.Success || !strings.Contains(r.Error, want) || r.Meta.ExitCode != nil {
			t.Errorf("%.60q: %+v, want %q", src, r, want)
		}
	}
	if _, err := os.Stat(env.Config.WorkspaceDir + "/ran"); err == nil {
		t.Error("part of a refused command ran")
	}
}

func TestShellDeniesAndEnds(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	dir := filepath.Dir(outside)
	for _, c := range []struct{ src, want string }{
		{"cat < " + outside, "outside"}, {"cat < ../outside.txt", "outside"}, {"cat < out", "outside"},
		{"cat < up/outside.txt", "outside"},
		{"x=$(< /etc/passwd); echo $x", "outside"}, {"echo EVIL > ../new", "outside"},
		{"echo EVIL > /tmp/../" + outside, "outside"},
		{"echo EVIL > up/new", "outside"}, {"echo EVIL &> " + outside, "outside"},
		{"p=" + dir + "; echo EVIL >> $p/new", "outside"},
		{"echo EVIL > .git/hooks/pre-commit", ".git"}, {"echo EVIL > innocent/config", ".git"},
		{"eval 'echo EVIL > ../new'", "outside"},
		{"cd ..", "outside"}, {"cd /", "outside"}, {"cd up", "outside"}, {"pushd /etc", "outside"},
		{"test -e /etc/passwd", "outside"}, {"[ -r " + outside + " ]", "outside"},
		{"[[ -s ../outside.txt ]]", "outside"},
		{"echo /etc/*", "outside"}, {"echo ../../x/*", "outside"}, {"echo rootlink/*", "outside"},
		{"PWD=/etc; echo p*", "outside"}, {"command -v /etc/passwd", "outside"}, {"type ../outside.txt", "outside"},
		{"source d/in.txt", "not supported"}, {". /etc/profile", "not supported"}, {"command . x", "not supported"},
		{"alias x=y", "not supported"},
		{"eval 'sleep 1 &'", "background"}, {"builtin eval 'cat <(x)'", "process substitution"},
		{"command -- eval 'sleep 1 &'", "background"},
		{"trap 'sleep 1 &' EXIT", "background"}, {"x='(((((((((('; eval $x$x$x$x$x$x$x$x$x$x$x", "nests"},
		{"LD_PRELOAD=./x.so /bin/true", "LD_PRELOAD"}, {"export GIT_CONFIG_COUNT=9; /bin/true", "GIT_CONFIG_COUNT"},
		{"PATH=. ls", "PATH"},
		{"export BASH_ENV=x; /bin/true", "BASH_ENV"}, {"HOME=/ /bin/true", "HOME"},
	} {
		r := sh(t, env, c.src+"; echo EVIL > ran; cat d/in.txt")
		if r.Success || !r.Denied || !strings.HasPrefix(r.Error, "denied: ") || !strings.Contains(r.Error, c.want) ||
			strings.Contains(r.Output, "inside") ||
			strings.Contains(r.Output, "secret") || strings.Contains(r.Output, "root:") {
			t.Errorf("%q: %+v, want %q", c.src, r, c.want)
		}
	}
	assertNoEvil(t, dir)
	// Directories above the workspace exist, and are empty to look at.
	if r := sh(t, env, "echo ../* "+dir+"/*"); r.Output != "../* "+dir+"/*\n" {
		t.Errorf("%+v", r)
	}
	// What is merely not possible fails like anywhere else, and the command goes on.
	for _, src := range []string{"cat < fifo", "cat < sock", "echo x > hard", "echo x > fifo", "echo x > dangling",
		"cat < absent", "echo x > d",
		"cat < danglingout", "echo x > d/rel", "echo x > danglingout"} {
		if r := sh(t, env, src+"; echo next"); !strings.HasSuffix(r.Output, "next\n") && !r.Denied {
			t.Errorf("%q: %+v", src, r)
		}
	}
	if _, err := os.Stat(dir + "/new.txt"); err == nil {
		t.Error("wrote through a dangling link")
	}
}

// TestShellTemporaryNames is about a way around the handlers: the interpreter opens names like its own pipes itself.
func TestShellTemporaryNames(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	for _, dir := range []string{"$TMPDIR", os.TempDir()} {
		r := sh(t, env, "ln -s "+outside+" "+dir+"/sh-interp-test; cat < "+dir+"/sh-interp-test")
		os.Remove(os.TempDir() + "/sh-interp-test")
		if r.Success || strings.Contains(r.Output, "secret") {
			t.Errorf("%s: %+v", dir, r)
		}
	}
}

func TestShellGuardSeesExpandedWords(t *testing.T) {
	env := testEnv(t)
	put(t, env, "a.txt", "")
	for _, c := range []struct{ src, kind, last string }{
		{"x=tou; y=ch; $x$y EVIL", GuardExec, "EVIL"},
		{"eval 'tou\"\"ch EVIL'", GuardExec, "EVIL"},
		{"f() { command touch $'E\\x56IL'; }; f", GuardExec, "EVIL"},
		{"exec touch EVIL", GuardExec, "EVIL"},
		{"echo $(touch EVIL)", GuardExec, "EVIL"},
		{"true | touch EVIL", GuardExec, "EVIL"},
		{"trap 'touch EVIL' EXIT; false", GuardExec, "EVIL"},
		{"a[$(touch EVIL)]=1", GuardExec, "EVIL"},
		{"p=EV; echo > ${p}IL", GuardOpenWrite, env.Config.WorkspaceDir + "/EVIL"},
		{"cat < a.txt", GuardOpenRead, env.Config.WorkspaceDir + "/a.txt"},
		{"test -e a.txt", GuardStat, env.Config.WorkspaceDir + "/a.txt"},
		{"echo *.txt", GuardReadDir, env.Config.WorkspaceDir},
	} {
		env.Guard = func(_ context.Context, kind, _ string, argv []string) error {
			if kind == c.kind && argv[len(argv)-1] == c.last {
				return errors.New("not today")
			}
			return nil
		}
		r := sh(t, env, c.src+" && touch EVIL2")
		if !r.Denied || !strings.HasSuffix(r.Error, "not today") {
			t.Errorf("%q: %+v", c.src, r)
		}
	}
	env.Guard = func(_ context.Context, kind, _ string, _ []string) error { return errors.New(kind) }
	for tool, kind := range map[string]string{"file_read": GuardOpenRead, "file_list": GuardReadDir} {
		if r := call(t, env, tool, obj{Path: "."}); tool == "file_list" && r.Error != `list ".": `+kind {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	if r := call(t, env, "file_write", obj{Path: "EVIL", Content: "x"}); !r.Denied {
		t.Errorf("file_write: %+v", r)
	}
	if names, _ := filepath.Glob(env.Config.WorkspaceDir + "/EVIL*"); names != nil {
		t.Errorf("made %v", names)
	}
}

func TestShellEnvironment(t *testing.T) {
	env := testEnv(t)
	t.Setenv("SECRET_API_KEY", "hunter2")
	put(t, env, "bin/ls", "#!/bin/sh\necho EVIL\n")
	must(t, os.Chmod(env.Config.WorkspaceDir+"/bin/ls", 0o755))
	env.SelfEnv = []string{"PATH=.:bin:" + env.Config.WorkspaceDir + "/bin:" + os.Getenv("PATH"),
		"SECRET_API_KEY=hunter2", "LD_LIBRARY_PATH=/x", "HOME=/root"}
	r := sh(t, env, "ls > /dev/null; X=1 env; echo $SECRET_API_KEY; export; declare -p; set")
	if !r.Success || strings.Contains(r.Output, "hunter2") || strings.Contains(r.Output, "EVIL") ||
		strings.Contains(r.Output, "HOME=/root") || strings.Contains(r.Output, "LD_") ||
		strings.Contains(r.Output, env.Config.WorkspaceDir+"/bin") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"TERM=dumb\n", "GIT_TERMINAL_PROMPT=0\n", "PAGER=cat\n", "X=1\n",
		"PWD=" + env.Config.WorkspaceDir + "\n", "LANG=C.UTF-8\n"} {
		if !strings.Contains("\n"+r.Output, "\n"+want) {
			t.Errorf("no %q in %s", want, r.Output)
		}
	}
	if r := sh(t, env, "echo $HOME"); r.Output == "" {
		t.Error("no home")
	} else if _, err := os.Stat(strings.TrimSpace(r.Output)); err == nil {
		t.Errorf("the private home %q is left", r.Output)
	}
}

func TestShellOutputIsCut(t *testing.T) {
	env := testEnv(t)
	r := sh(t, env, "echo HEAD; yes 0123456789 | head -c 3000000; echo TAIL")
	if !r.Success || !r.Meta.Truncated || r.Meta.TotalBytes != 3000010 || len(r.Output) > 4200 ||
		!strings.HasPrefix(r.Output, "HEAD\n") ||
		!strings.HasSuffix(r.Output, "TAIL\n") {
		t.Errorf("%d bytes, %+v", len(r.Output), r.Meta)
	}
	if r := sh(t, env, `printf 'a\377b'`); r.Output != "a\uFFFDb" {
		t.Errorf("invalid UTF-8: %+v", r)
	}
}

func TestShellInterpreterIsBounded(t *testing.T) {
	env := testEnv(t)
	for src, want := range map[string]string{
		"f() { f; }; f":                              "deeply",
		"f() { (f); }; f":                            "deeply",
		"f() { x=$(f); }; f":                         "deeply",
		"f() { eval f; }; f":                         "deeply",
		"x=aaaaaaaa; while [[ 1 ]]; do x=$x$x; done": "memory|timed out",
		"while true; do :; done":                     "commands",
		"f() { f | f; }; f":                          "stopped",
	} {
		start := time.Now()
		r := sh(t, env, src)
		if r.Success || !regexp.MustCompile(want).MatchString(r.Error) { // on a slow machine the time is up first
			t.Errorf("%s: %+v, want %q", src, r, want)
		}
		t.Logf("%s: %v %s", src, time.Since(start).Round(time.Millisecond), r.Error)
	}
}

func TestShellCommandsRunSideBySide(t *testing.T) {
	env := testEnv(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := strconv.Itoa(i) + "\n"
			if r := sh(t, env, fmt.Sprintf("/bin/echo %d | cat", i)); r.Output != want {
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"a | b", "x=$(y) z", "eval 'q'", "cat <<E\nx\nE", "((1))", "a &", "f() { g; }",
		"[[ a == b ]]", "${x:-`y`}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := parseCommand(src)
		if (file == nil) == (err == nil) && err == nil {
			t.Fatalf("%q: neither command nor error", src)
		}
		if err == nil && (len(src) > maxCommandBytes || strings.ContainsAny(src, "\x00\r")) {
			t.Fatalf("%q was taken", src)
		}
	})
}

func BenchmarkShell(b *testing.B) {
	env := testEnv(b)
	for _, src := range []string{"true", "/bin/true"} {
		raw, _ := recordEncode(command{Command: src})
		b.Run(src, func(b *testing.B) {
			for b.Loop() {
				if r := Run(b.Context(), bind(runCommand), raw, env); !r.Success {
					b.Fatal(r.Error)
				}
			}
		})
	}
	b.Run("fork+exec alone", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
