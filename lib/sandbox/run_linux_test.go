package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/test/need"
)

// box is a place and how to run a script in it by an engine.
type box struct {
	t      *testing.T
	e      engine
	place  Place
	limits Limits
}

// eachEngine runs a test in every engine that can be set up here; why one cannot is printed.
func eachEngine(t *testing.T, test func(b *box)) {
	for _, name := range []string{Native, Bubblewrap, Landlock} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			b := &box{t: t, e: engines()[name], place: Place{Workspace: dir}, limits: testLimits()}
			if _, err := b.e.run(t.Context(), b.place, b.limits, Program{Argv: []string{truth()}, Dir: dir},
				Streams{}); err != nil {
				need.Skip(t, name, "%s cannot be set up here: %v", name, err)
			}
			test(b)
		})
	}
}

// sh runs a script and returns what it said, and how it ended.
func (b *box) sh(ctx context.Context, script string) (string, Exit) {
	b.t.Helper()
	var out bytes.Buffer
	exit, err := b.e.run(ctx, b.place, b.limits,
		Program{Argv: []string{"/bin/sh", "-c", script}, Dir: b.place.Workspace,
			Env: []string{"PATH=/usr/bin:/bin", "A=b"}},
		Streams{Stdout: &out, Stderr: &out})
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return out.String(), exit
}

func TestExitCodes(t *testing.T) {
	eachEngine(t, func(b *box) {
		for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exit 71": 71, "kill -TERM $$": 128 + 15,
			"kill -KILL $$": 128 + 9, "/nosuch": 127} {
			if out, exit := b.sh(b.t.Context(), script); exit.Code != want || exit.Killed != "" {
				b.t.Errorf("%s: %+v, want %d\n%s", script, exit, want, out)
			}
		}
		for path, want := range map[string]error{"/nosuch/program": syscall.ENOENT, b.place.Workspace: syscall.EACCES} {
			_, err := b.e.run(b.t.Context(), b.place, b.limits, Program{Argv: []string{path}, Dir: b.place.Workspace},
				Streams{})
			if !errors.Is(err, want) {
				b.t.Errorf("%s: %v, want %v", path, err, want)
			}
		}
	})
}

func TestProgramSeesWhatItWasGiven(t *testing.T) {
	t.Setenv("PLANTED_SECRET", "value-of-the-secret")
	eachEngine(t, func(b *box) {
		var out bytes.Buffer
		exit, err := b.e.run(b.t.Context(), b.place, b.limits,
			Program{Argv: []string{"/bin/sh", "-c", "env; cat; pwd; echo error >&2"}, Dir: b.place.Workspace,
				Env: []string{"PATH=/usr/bin:/bin", "A=b"}},
			Streams{Stdin: strings.NewReader("from stdin\n"), Stdout: &out, Stderr: &out})
		if err != nil || exit.Code != 0 {
			b.t.Fatalf("%+v, %v", exit, err)
		}
		for _, want := range []string{"A=b\n", "from stdin\n", b.place.Workspace + "\n", "error\n"} {
			if !strings.Contains(out.String(), want) {
				b.t.Errorf("%q is not in %q", want, out.String())
			}
		}
		if strings.Contains(out.String(), "PLANTED") || strings.Contains(out.String(), "GOMAXPROCS") {
			b.t.Errorf("it got our environment: %s", out.String())
		}
	})
}

func TestWorkspaceIsAllItWrites(t *testing.T) {
	eachEngine(t, func(b *box) {
		outside := b.t.TempDir()
		os.Chmod(outside, 0o777)
		name := filepath.Base(b.place.Workspace) + rand.Text()
		places := []string{outside + "/", "/etc/", "/usr/", "/var/", "/root/", "/var/tmp/", "/proc/sys/kernel/",
			"/dev/"}
		script := "echo x > inside"
		for _, p := range places {
			script += "; echo x > " + p + name + "; mkdir -p " + p + name + "d"
		}
		b.sh(b.t.Context(), script)
		if _, err := os.Stat(b.place.Workspace + "/inside"); err != nil {
			b.t.Error(err)
		}
		for _, p := range places {
			for _, f := range []string{p + name, p + name + "d"} {
				if _, err := os.Stat(f); err == nil {
					b.t.Errorf("it wrote %s", f)
					os.Remove(f)
				}
			}
		}
	})
}

func TestSecretsAreNotSeen(t *testing.T) {
	eachEngine(t, func(b *box) {
		home := b.t.TempDir()
		os.Mkdir(home+"/.ssh", 0o755)
		os.WriteFile(home+"/.ssh/id", []byte("the key itself"), 0o644)
		os.Mkdir(b.place.Workspace+"/private", 0o755)
		os.WriteFile(b.place.Workspace+"/private/key", []byte("the key itself"), 0o644)
		b.place.Hidden = append(config.SecretPaths(home), b.place.Workspace+"/private")
		script := "cat " + home + "/.ssh/id /proc/1/root" + home + "/.ssh/id; ls " + home
		if b.e.name() != Landlock { // what it cannot hide within the workspace, it says (report)
			script += "; cat private/key; ls private"
		}
		if out, _ := b.sh(b.t.Context(), script); strings.Contains(out, "the key itself") {
			b.t.Errorf("it read %s", out)
		}
	})
}

// heartbeat is a program that leaves everything it can: its session, its group and its parents. All of it holds the
// pulse.
const heartbeat = `exec 9>pulse; setsid sh -c '(while :; do echo x >&9; echo x >> heartbeat; sleep 0.02; done) >/dev/null 2>&1 &' & while [ ! -s heartbeat ]; do sleep 0.01; done; `

// pulse makes a FIFO in the workspace. It ends when no program holds it any more.
func (b *box) pulse() *os.File {
	b.t.Helper()
	path := b.place.Workspace + "/pulse"
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		b.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { f.Close() })
	return f
}

// still tells that nothing beats any more.
func still(t *testing.T, pulse *os.File) {
	t.Helper()
	pulse.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := io.Copy(io.Discard, pulse); err != nil || n == 0 {
		t.Errorf("it beats on, or never has: %d bytes, %v", n, err)
	}
}

func TestNothingOutlivesTheProgram(t *testing.T) {
	eachEngine(t, func(b *box) {
		pulse := b.pulse()
		if _, exit := b.sh(b.t.Context(), heartbeat+"exit 3"); exit.Code != 3 {
			b.t.Errorf("%+v", exit)
		}
		still(b.t, pulse)
	})
}

func TestCancelKillsEverything(t *testing.T) {
	eachEngine(t, func(b *box) {
		ctx, cancel := context.WithCancelCause(b.t.Context())
		pulse := b.pulse()
		// it writes too, so it meets no end before the beginning
		first, err := os.OpenFile(pulse.Name(), os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			b.t.Fatal(err)
		}
		go func() {
			first.Read(make([]byte, 1))
			first.Close()
			cancel(errors.New("emergency stop"))
		}()
		start := time.Now()
		_, exit := b.sh(ctx, heartbeat+"trap '' TERM INT HUP; while :; do sleep 1; done")
		if exit.Killed != "emergency stop" || time.Since(start) > 5*time.Second {
			b.t.Errorf("%+v after %v", exit, time.Since(start))
		}
		still(b.t, pulse)
	})
}

func TestForkBombIsBounded(t *testing.T) {
	eachEngine(t, func(b *box) {
		if b.e.report().lacks(All).Guarantees[Tasks] == "" {
			need.Skip(b.t, need.RootTasks, "the kernel does not bound root's processes for this engine, which says so")
		}
		ctx, cancel := context.WithTimeout(b.t.Context(), 3*time.Second)
		defer cancel()
		b.sh(ctx, "b() { b | b & }; b; sleep 1; ls /proc 2>/dev/null | grep -c '^[0-9]'")
		if left := process.Descendants(os.Getpid()); len(left) > 0 {
			b.t.Errorf("%d processes are left", len(left))
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	eachEngine(t, func(b *box) {
		b.limits.MemoryBytes = 128 << 20
		if need.Race { // the start of the sandbox is within the bound, too
			b.limits.MemoryBytes = 512 << 20
		}
		hog := "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"
		if out, exit := b.sh(b.t.Context(), hog); exit.Code == 0 {
			b.t.Errorf("one process: %+v %s", exit, out)
		}
		ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
		defer cancel()
		// Each of them within the limit of one process, all together not.
		_, exit := b.sh(ctx,
			fmt.Sprintf("for i in 1 2 3 4 5 6; do (x=$(head -c %d /dev/zero | tr '\\0' a); sleep 10) & done; wait",
				b.limits.MemoryBytes*3/10))
		if !strings.Contains(exit.Killed, "memory") {
			b.t.Errorf("six processes: %+v", exit)
		}
	})
}

func TestOtherLimits(t *testing.T) {
	eachEngine(t, func(b *box) {
		b.limits.FileBytes, b.limits.CPUS, b.limits.OpenFiles = 1<<20, 1, 32
		for script, want := range map[string]string{
			"head -c 5000000 /dev/zero > big; stat -c %s big": "1048576\n",
			"ulimit -n": "32\n", "ulimit -t": "1\n", "ulimit -c": "0\n", "nproc": "1\n",
			"ulimit -t 100 2>/dev/null; ulimit -t": "1\n",
		} {
			if out, _ := b.sh(b.t.Context(), script); !strings.HasSuffix(out, want) {
				b.t.Errorf("%s: %q, want %q", script, out, want)
			}
		}
		if _, exit := b.sh(b.t.Context(), "while :; do :; done"); exit.Code != 128+int(syscall.SIGKILL) &&
			exit.Code != 128+int(syscall.SIGXCPU) {
			b.t.Errorf("a second of processor time: %+v", exit)
		}
		if b.e.name() == Landlock {
			return // it has no /tmp
		}
		b.limits.TmpBytes = 1 << 20
		if out, _ := b.sh(b.t.Context(),
			"head -c 3000000 /dev/zero > /tmp/x; stat -c %s /tmp/x"); !strings.HasSuffix(out, "1048576\n") {
			b.t.Errorf("/tmp: %q", out)
		}
	})
}

func TestUnavailableRunsNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Seatbelt, Place{Workspace: dir}, testLimits())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Run(t.Context(), Adapt{}, Program{Argv: []string{"/bin/touch", dir + "/canary"}, Dir: dir}, Streams{})
	var none *Unavailable
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "seatbelt") || none.Hint() == "" {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/canary"); err == nil {
		t.Error("the program was run")
	}
	if _, err := New("docker", Place{Workspace: dir}, testLimits()); err == nil {
		t.Error("an unknown mode was taken")
	}
}

// A set-up that fails at any step has run nothing, whatever the step.
func TestBrokenOrdersRunNothing(t *testing.T) {
	dir := t.TempDir()
	program := Program{Argv: []string{"/bin/touch", dir + "/canary"}, Dir: dir}
	whole := func() *order {
		v, err := view(Place{Workspace: dir}, testLimits())
		if err != nil {
			t.Fatal(err)
		}
		return &order{Program: program, Limits: testLimits(), View: v, Read: []string{"/"}, Write: []string{dir},
			Scratch: "/tmp"}
	}
	for name, spoil := range map[string]func(*order){
		"no limit":   func(o *order) { o.Limits.Processes = 0 },
		"no program": func(o *order) { o.Argv = nil },
		"a source is gone": func(o *order) {
			o.View = append(o.View,
				mount{Kind: mountRead, Source: dir + "/gone", Target: "/x"})
		},
		"no scratch":      func(o *order) { o.Scratch = dir + "/gone" },
		"an old kernel":   func(o *order) { o.MinABI = 1000 },
		"a bad pid_max":   func(o *order) { o.PidMax = 1 },
		"an unknown kind": func(o *order) { o.View = append(o.View, mount{Kind: "magic", Target: "/x"}) },
		"an unclean target": func(o *order) {
			o.View = append(o.View,
				mount{Kind: mountRead, Source: "/etc", Target: "/x/\x00"})
		},
	} {
		o := whole()
		spoil(o)
		exit, err := startNative(t.Context(), o, testLimits(), Streams{})
		var setup setupError
		if !errors.As(err, &setup) {
			t.Errorf("%s: %+v, %v", name, exit, err)
		}
		if _, err := os.Stat(dir + "/canary"); err == nil {
			t.Errorf("%s: the program was run", name)
			os.Remove(dir + "/canary")
		}
	}
}
