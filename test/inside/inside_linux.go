// Package inside tries, from inside a program's confinement, what its row of the design forbids (DESIGN §5). The tests
// of the programs run it: each in a process of its own, which confines itself with the program's own rule.
package inside

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/test/need"
)

// variable tells a process of the test that it is the one to try.
const variable = "CLAWSH_INSIDE"

// threads is how many threads try: what holds for one alone is no confinement.
const threads = 16

// places are where there is something to try.
type places struct{ home, workspace, outside, listener, terminal string }

// attempts are what is tried, by name. Nil means that it was possible.
var attempts = map[string]func(p places) error{
	"read a file outside":          func(p places) error { return read(p.outside + "/file") },
	"write a file outside":         func(p places) error { return write(p.outside + "/file") },
	"make a file outside":          func(p places) error { return create(p.outside) },
	"list a directory outside":     func(p places) error { _, err := os.ReadDir(p.outside); return err },
	"read the workspace":           func(p places) error { return read(p.workspace + "/file") },
	"list the workspace":           func(p places) error { _, err := os.ReadDir(p.workspace); return err },
	"write the workspace":          func(p places) error { return write(p.workspace + "/file") },
	"make a file in the workspace": func(p places) error { return create(p.workspace) },
	"read the private key":         func(p places) error { return read(p.home + "/keys/permit.key") },
	"write the private key":        func(p places) error { return write(p.home + "/keys/permit.key") },
	"read the public key":          func(p places) error { return read(p.home + "/keys/permit.pub") },
	"read the configuration":       func(p places) error { return read(p.home + "/config.toml") },
	"write the configuration":      func(p places) error { return write(p.home + "/config.toml") },
	"read the audit log":           func(p places) error { return read(p.home + "/audit.jsonl") },
	"write the audit log":          func(p places) error { return write(p.home + "/audit.jsonl") },
	"read the receipts":            func(p places) error { return read(p.home + "/tool_receipts.log") },
	"write the receipts":           func(p places) error { return write(p.home + "/tool_receipts.log") },
	"read the keys of receipts":    func(p places) error { return read(p.home + "/keys/receipt/receipt.key") },
	"read the key of seals":        func(p places) error { return read(p.home + "/keys/exec/seal.key") },
	"replace the key of seals":     func(p places) error { return create(p.home + "/keys/exec") },
	"read who may seal":            func(p places) error { return read(p.home + "/keys/executors/x.pub") },
	"say who may seal":             func(p places) error { return create(p.home + "/keys/executors") },
	"replace the keys of receipts": func(p places) error { return create(p.home + "/keys/receipt") },
	"replace the head of receipts": func(p places) error { return create(p.home + "/tool_receipts.log.d") },
	"write what is under way":      func(p places) error { return write(p.home + "/under-way.lock") },
	"read the memory":              func(p places) error { return read(p.home + "/memory.sqlite") },
	"write the memory":             func(p places) error { return write(p.home + "/memory.sqlite") },
	"write a session":              func(p places) error { return create(p.home + "/agents/default/sessions") },
	"write a trace of events":      func(p places) error { return write(p.home + "/agents/default/agent.jsonl") },
	"write a soul":                 func(p places) error { return write(p.home + "/agents/default/soul.md") },
	"replace a soul":               func(p places) error { return create(p.home + "/agents/default") },
	"make a file in the home":      func(p places) error { return create(p.home) },
	"remove a file of the home":    func(p places) error { return remove(p.home + "/spare") },
	"remove the private key":       func(p places) error { return remove(p.home + "/keys/spare") },
	"read another terminal":        func(p places) error { return open(p.terminal, os.O_RDONLY|unix.O_NOCTTY) },
	"use up permits":               func(p places) error { return write(p.home + "/permits.used") },
	"make an internet socket":      func(places) error { return socket(unix.AF_INET, unix.SOCK_STREAM) },
	"make a local socket":          func(places) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) },
	"make a netlink socket":        func(places) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) },
	"connect to any port": func(p places) error {
		c, err := net.Dial("tcp4", p.listener)
		if err == nil {
			c.Close()
		}
		return err
	},
	"connect by multipath TCP": func(p places) error { return multipath(p.listener) },
	"make a raw socket": func(places) error {
		// no protocol, so none is made outside either
		_, _, e := unix.Syscall(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, 9999)
		return allowedUnless(e)
	},
	"make a process": func(places) error { // flags that contradict each other, so none is made outside either
		_, _, e := unix.RawSyscall(unix.SYS_CLONE, unix.CLONE_SIGHAND, 0, 0)
		return allowedUnless(e)
	},
	"start a program":  func(places) error { return exec.Command("/bin/true").Run() },
	"trace its parent": func(places) error { return unix.PtraceAttach(os.Getppid()) },
	"make a namespace": func(places) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"mount": func(p places) error {
		err := unix.Mount(p.outside, p.outside, "", unix.MS_BIND, "")
		if err == nil {
			unix.Unmount(p.outside, unix.MNT_DETACH)
		}
		return err
	},
	"load a kernel filter": func(places) error {
		_, _,
			e := unix.Syscall(unix.SYS_BPF, 0, 0, 0)
		return allowedUnless(e)
	},
	"use the key ring": func(places) error {
		_, _,
			e := unix.Syscall(unix.SYS_KEYCTL, 0, 0, 0)
		return allowedUnless(e)
	},
	"signal its parent": func(places) error { return unix.Kill(os.Getppid(), 0) },
}

func allowedUnless(e syscall.Errno) error {
	if e == unix.EPERM || e == unix.ENOSYS || e == unix.EACCES || e == unix.EAFNOSUPPORT {
		return e
	}
	return nil
}

func read(path string) error {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err
}

func open(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err == nil {
		f.Close()
	}
	return err
}

// remove tries the right to remove: what is gone already could be removed.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// multipath connects as no rule about TCP ports sees it.
func multipath(address string) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()})
}

// otherTerminal opens a terminal that is nobody's.
func otherTerminal() (master *os.File, path string, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, "", err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	return master, fmt.Sprintf("/dev/pts/%d", n), err
}

func write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func create(dir string) error {
	f, err := os.CreateTemp(dir, "inside-")
	if err == nil {
		f.Close()
		os.Remove(f.Name())
	}
	return err
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// Main takes the place of a test's own main function: in the process that tries it confines itself by the row, tries
// everything, and ends.
func Main(m *testing.M, row command.Access) {
	syscall.Umask(0o022) // a home in a directory that others may write to is refused
	spec := os.Getenv(variable)
	if spec == "" {
		m.Run()
		return
	}
	part := strings.Split(spec, "|")
	p := places{part[0], part[1], part[2], part[3], part[4]}
	call := &command.Call{Getenv: os.Getenv, Environ: os.Environ()}
	paths, err := config.Locate("", os.Getenv)
	if err != nil {
		fail(err)
	}
	cfg, err := config.Load(paths)
	if err != nil {
		fail(err)
	}
	a := row(call, cfg)
	a.Read = append(a.Read, paths.File)
	report, err := confine.Self(a)
	if err != nil {
		fail(err)
	}
	if report.Lacking != "" {
		fmt.Println("lacking: " + report.Lacking)
	}
	for name, try := range attempts {
		if possible(p, try) {
			fmt.Println("possible: " + name)
		}
	}
	syscall.Exit(0)
}

func fail(err error) {
	fmt.Println("error:", err)
	syscall.Exit(1)
}

// possible tells whether any of many threads could do it.
func possible(p places, try func(places) error) bool {
	var some sync.Map
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			runtime.LockOSThread()
			if try(p) == nil {
				some.Store(true, true)
			}
		})
	}
	wg.Wait()
	_, ok := some.Load(true)
	return ok
}

// Check runs a process that confines itself, and holds what it could do against what its row keeps, word for word.
// Outside, all of it is possible.
func Check(t *testing.T, keeps ...string) {
	t.Helper()
	got := run(t)
	for _, g := range got {
		if !slices.Contains(keeps, g) {
			t.Errorf("from inside it is possible to: %s", g)
		}
	}
	for _, k := range keeps {
		if !slices.Contains(got, k) {
			t.Errorf("from inside it is not possible to: %s", k)
		}
	}
}

// CheckNot is Check for a row that keeps most: it names what must not be possible.
func CheckNot(t *testing.T, never ...string) {
	t.Helper()
	got := run(t)
	for _, n := range never {
		if slices.Contains(got, n) {
			t.Errorf("from inside it is possible to: %s", n)
		}
	}
	if !slices.Contains(got, "start a program") {
		t.Error("from inside it is not possible to start a program")
	}
}

// run starts the process that tries, and returns what was possible.
func run(t *testing.T) []string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := places{home: home + "/.clawsh", workspace: home + "/w", outside: home + "/outside"}
	t.Cleanup(func() { // threads that mount there at once may leave one of theirs
		for unix.Unmount(p.outside, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
		}
	})
	for _, d := range []string{p.home + "/keys/receipt", p.home + "/keys/exec", p.home + "/keys/executors",
		p.home + "/tool_receipts.log.d", p.home + "/agents/default/sessions", p.workspace, p.outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{p.home + "/config.toml": "workspace_dir = \"" + p.workspace + "\"\n",
		p.outside + "/file": "x", p.workspace + "/file": "x", p.home + "/keys/permit.key": "x",
		p.home + "/keys/permit.pub": "x", p.home + "/audit.jsonl": "", p.home + "/tool_receipts.log": "",
		p.home + "/memory.sqlite": "x", p.home + "/permits.used": "", p.home + "/spare": "", p.home + "/keys/spare": "",
		p.home + "/keys/receipt/receipt.key": "x", p.home + "/keys/exec/seal.key": "x",
		p.home + "/keys/executors/x.pub": "x", p.home + "/under-way.lock": "",
		p.home + "/agents/default/soul.md": "x", p.home + "/agents/default/agent.jsonl": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.listener = l.Addr().String()
	master, terminal, err := otherTerminal()
	if err != nil {
		t.Fatalf("make a terminal: %v", err)
	}
	defer master.Close()
	p.terminal = terminal
	for _, name := range []string{"read a file outside", "write a file outside", "make a file outside",
		"read the private key", "connect to any port", "start a program", "make an internet socket", "write the memory",
		"write a soul", "replace a soul", "read the keys of receipts", "replace the keys of receipts",
		"read the key of seals", "say who may seal", "replace the head of receipts", "read another terminal",
		"make a file in the home", "make a process", "make a raw socket"} {
		if err := attempts[name](p); err != nil {
			t.Fatalf("%s is not possible outside either: %v", name, err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{variable + "=" + strings.Join([]string{p.home, p.workspace, p.outside, p.listener, p.terminal},
		"|"), "HOME=" + home, "CLAWSH_HOME=" + p.home, "PATH=/usr/bin:/bin"}
	cmd.Dir = p.outside
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the process could not confine itself: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "lacking:") {
		need.Skip(t, need.Confined, "not everything can be enforced here: %s", out)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "possible: "); ok {
			got = append(got, name)
		}
	}
	return got
}
