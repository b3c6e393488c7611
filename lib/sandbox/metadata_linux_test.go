package sandbox

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Programs that set modes and times by name or by descriptor do so in the workspace, whichever engine holds them.
func TestProgramsSetModesAndTimes(t *testing.T) {
	eachEngine(t, func(b *box) {
		script := `echo x >a; mkdir -p d/e; echo y >d/e/f; ln -s a link; echo 'echo ran' >run
t() { out=$("$@" 2>&1) || echo "FAIL $*: $out"; }
t chmod 640 a; t chmod -R u+w d; t chmod +x run; t ./run; t touch -d @1000 a; t touch d; t touch -h -d @1000 link; t cp -p a b; t cp -a d d2
t install -m 755 a i; t tar cf x.tar d a; t mkdir out; t tar xf x.tar -C out; t mv d2 d3; t chown "$(id -u)" a; t gzip -k a; t gunzip -c a.gz; t sed -i s/x/y/ a
t env HOME=$PWD GIT_CONFIG_NOSYSTEM=1 git init -q repo; cd d; t chmod 600 ../b; t chmod 700 .; t touch -d @5 e/f; cd ..; t chmod 700 ./d/../d/./e`
		if out, _ := b.sh(b.t.Context(), script); out != "" {
			b.t.Error(out)
		}
		for name, mode := range map[string]os.FileMode{"run": 0o755, "b": 0o600, "i": 0o755, "d": 0o700, "d/e": 0o700} {
			if info, err := os.Stat(b.place.Workspace + "/" + name); err != nil || info.Mode().Perm()|0o44 != mode|
				0o44 {
				b.t.Errorf("%s: %v %v, want %v", name, info.Mode(), err, mode)
			}
		}
		for name, at := range map[string]int64{"link": 1000, "b": 1000, "d/e/f": 5} {
			if info, err := os.Lstat(b.place.Workspace + "/" + name); err != nil || info.ModTime() != time.Unix(at, 0) {
				b.t.Errorf("%s: %v %v, want %d", name, info.ModTime(), err, at)
			}
		}
	})
}

// What lies outside, or is somebody else's, is not changed, by whatever name it is called.
func TestNobodyElsesMetadata(t *testing.T) {
	eachEngine(t, func(b *box) {
		outside := b.t.TempDir()
		file := outside + "/file"
		os.WriteFile(file, []byte("x"), 0o600)
		os.Symlink(file, b.place.Workspace+"/link")
		os.Symlink(outside, b.place.Workspace+"/dir")
		os.WriteFile(b.place.Workspace+"/other", []byte("x"), 0o600)
		foreign := os.Chown(b.place.Workspace+"/other", 12345, 12345) == nil
		var before, after unix.Stat_t
		unix.Stat(file, &before)
		script := ""
		for _, name := range []string{file, "link", "dir/file", "dir/", "dir/.", "../" + outside, "/proc/self/root" +
			file, "/proc/1/root" + file, "/proc/$$/cwd/link", "dir/../file", "/dev/null"} {
			script += "chmod 777 " + name + "; touch -d @1 " + name + "; chown 12345 " + name + "; chmod 777 <" + name +
				";"
		}
		out, _ := b.sh(b.t.Context(), script+"chmod 777 other; exec 5<"+file+
			"; chmod 777 /proc/self/fd/5 /dev/fd/5; cd dir && chmod 777 file . ; touch -h -d @1 "+file)
		unix.Stat(file, &after)
		if before.Ctim != after.Ctim || before.Mode != after.Mode {
			b.t.Errorf("it changed the file: %s", out)
		}
		if info, err := os.Stat(b.place.Workspace + "/other"); foreign && (err != nil || info.Mode().Perm() != 0o600) {
			b.t.Errorf("it changed another user's file: %v", err)
		}
		// it is not offered to root
		if info, err := os.Stat("/dev/null"); err != nil || info.Mode().Perm() != 0o666 &&
			!(b.e.name() == Bubblewrap && os.Getuid() == 0) {
			b.t.Errorf("it changed a device: %v", err)
		}
		if os.Getuid() == 0 {
			os.Chmod("/dev/null", 0o666)
			os.Chown("/dev/null", 0, 0)
		}
	})
}

// The keeper reads arguments that a program chose: none of them makes it do more than fail.
func TestKeeperAnswersNonsense(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := &keeper{listener: -1, places: []string{dir}}
	words := []uint64{0, 1, 3, 1 << 12, 1 << 31, ^uint64(0), ^uint64(99), 1<<63 - 1, 0xffffffff}
	for _, m := range changes {
		for _, a := range words {
			for _, b := range words {
				c := handed{pid: uint32(os.Getpid()), nr: int32(m.number), args: [6]uint64{a, b, a, b, a, b}}
				if errno := k.do(&c); errno == 0 {
					t.Errorf("call %d with %#x and %#x: done", m.number, a, b)
				}
			}
		}
	}
	if errno := k.do(&handed{nr: 0}); errno != unix.ENOSYS {
		t.Errorf("a call that is nobody's: %v", errno)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil || st.Mode&0o777 != 0o600 {
		t.Errorf("%o %v", st.Mode, err)
	}
	for _, path := range []string{dir + "2", strings.TrimSuffix(dir, "1"), "/"} {
		fd, err := unix.Open(path, unix.O_PATH, 0)
		if err != nil {
			continue
		}
		defer unix.Close(fd)
		if k.mayChange(fd) == 0 {
			t.Errorf("%s may be changed", path)
		}
	}
}

// Where the host lets nobody look into programs, the engine says so and runs nothing: else each call would fail without
// a reason.
func TestKeeperThatMayNotLook(t *testing.T) {
	for _, c := range []struct {
		scope   string
		err     error
		capable bool
		want    string
	}{
		{err: fs.ErrNotExist}, {scope: "0\n"}, {scope: "1\n"}, {scope: "2\n", capable: true},
		{scope: "2\n", want: "ptrace_scope is 2"}, {scope: "3\n", want: "ptrace_scope is 3"},
		{scope: "3\n", capable: true, want: "ptrace_scope is 3"},
		{scope: "4", capable: true, want: "ptrace_scope is 4"}, {scope: "", want: "ptrace_scope"},
		{scope: "x", want: "ptrace_scope"},
		{err: fs.ErrPermission, capable: true, want: "permission denied"},
	} {
		read := func(name string) ([]byte, error) {
			if name != ptraceScope {
				t.Errorf("it reads %s", name)
			}
			return []byte(c.scope), c.err
		}
		err := mayInspect(read, c.capable)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := keep(func(string) ([]byte, error) { return []byte("3\n"), nil }); err == nil ||
		!strings.Contains(err.Error(), "ptrace_scope is 3") {
		t.Errorf("the keeper starts: %v", err)
	}
}
