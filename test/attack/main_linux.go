// Command attack is run inside the sandbox, attempts each thing that is forbidden there, and prints what it could do: a line
// "possible NAME" each. It refuses to run anywhere else.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is one thing that must not work. Its name begins with the guarantee that it is about.
type attempt struct {
	name string
	try  func() error
}

func main() {
	if err := inSandbox(); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		syscall.Exit(64)
	}
	if len(os.Args) > 1 {
		mode(os.Args[1])
		return
	}
	possible := 0
	for _, a := range attempts() {
		done := make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			done <- a.try()
		}()
		select {
		case err := <-done:
			if err == nil {
				fmt.Println("possible " + a.name)
				possible++
			}
		case <-time.After(2 * time.Second):
			fmt.Println("silent " + a.name) // nothing came of it
		}
	}
	for _, w := range works() {
		if err := w.try(); err != nil {
			fmt.Printf("broken %s: %v\n", w.name, err)
		}
	}
	fmt.Println("tried", len(attempts()))
}

// inSandbox refuses to attack a machine that nothing protects.
func inSandbox() error {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || nnp != 1 || os.Getenv("CLAWSH_ATTACK") != "1" {
		return fmt.Errorf("this runs in the sandbox only")
	}
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode != 2 {
		return fmt.Errorf("this runs under a filter only")
	}
	return nil
}

// call is a raw system call that is possible unless the kernel refuses it.
func call(number uintptr, args ...uintptr) func() error {
	return func() error {
		a := make([]uintptr, 6)
		copy(a, args)
		_, _, e := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		// What is reached complains about its arguments; what is refused says so.
		switch e {
		case 0, unix.EFAULT, unix.EBADF, unix.EINVAL, unix.ESRCH, unix.ENOENT, unix.EAGAIN, unix.ENOKEY, unix.ENOTTY:
			return nil
		}
		return e
	}
}

func socket(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func write(path string) func() error {
	return func() error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			f.Close()
		}
		return err
	}
}

func read(path string) func() error {
	return func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
		return err
	}
}

func see(path string) func() error {
	return func() error { _, err := os.Lstat(path); return err }
}

func dial(network, address string) func() error {
	return func() error {
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}
}

// list is a list of planted things, from the environment.
func list(name string) []string {
	return strings.FieldsFunc(os.Getenv(name), func(r rune) bool { return r == ':' })
}

func attempts() []attempt {
	dir, _ := os.Getwd()
	name := "attack-" + strconv.Itoa(os.Getpid())
	all := []attempt{
		{"network: tcp", dial("tcp", os.Getenv("ATTACK_TCP"))}, {"network: udp", dial("udp", os.Getenv("ATTACK_TCP"))}, {"network: unix socket", dial("unix", os.Getenv("ATTACK_UNIX"))},
		{"network: abstract socket", dial("unix", "@"+os.Getenv("ATTACK_ABSTRACT"))}, {"network: mptcp", socket(unix.AF_INET, unix.SOCK_STREAM, 262)}, {"network: raw", socket(unix.AF_INET, unix.SOCK_RAW, 1)},
		{"network: inet6", socket(unix.AF_INET6, unix.SOCK_STREAM, 0)}, {"network: packet", socket(unix.AF_PACKET, unix.SOCK_RAW, 0)}, {"network: vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"network: netlink", socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)}, {"network: alg", socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)}, {"network: unix", socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)},
		{"files: /etc", write("/etc/" + name)}, {"files: /usr", write("/usr/" + name)}, {"files: /bin", write("/bin/" + name)}, {"files: /", write("/" + name)}, {"files: /var", write("/var/" + name)},
		{"files: /proc/sys", write("/proc/sys/kernel/core_pattern")}, {"files: pid_max", write("/proc/sys/kernel/pid_max")}, {"files: sysrq", write("/proc/sysrq-trigger")}, {"files: /sys", write("/sys/" + name)},
		{"files: /dev", write("/dev/" + name)}, {"files: mem", read("/dev/mem")}, {"files: kmsg", read("/dev/kmsg")}, {"files: kcore", read("/proc/kcore")},
		{"files: .git/config", write(dir + "/.git/config")}, {"files: .git/hooks", write(dir + "/.git/hooks/" + name)}, {"files: move .git", func() error { return os.Rename(dir+"/.git", dir+"/git"+name) }},
		{"files: nested .git", write(dir + "/sub/.git/config")},
		{"privileges: setuid bit", func() error { return setID(func(p string) error { return unix.Chmod(p, 0o4755) }) }},
		{"privileges: fchmod", func() error {
			return setID(func(p string) error {
				f, err := os.Open(p)
				if err != nil {
					return err
				}
				defer f.Close()
				return unix.Fchmod(int(f.Fd()), 0o4755)
			})
		}},
		{"privileges: fchmodat2", func() error {
			return setID(func(p string) error { return unix.Fchmodat(unix.AT_FDCWD, p, 0o4755, unix.AT_SYMLINK_NOFOLLOW) })
		}},
		{"privileges: open with a set-id mode", func() error {
			fd, err := unix.Open(dir+"/"+name+"s", unix.O_CREAT|unix.O_WRONLY, 0o4755)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{"privileges: mknod", func() error { return unix.Mknod(dir+"/"+name+"d", unix.S_IFCHR|0o666, 0x103) }},
		{"privileges: setuid 0", func() error {
			if os.Getuid() == 0 {
				return unix.EPERM // it has that number already, and nothing behind it
			}
			return unix.Setuid(0)
		}},
		{"privileges: capabilities", capabilities}, {"privileges: unshare", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }}, {"privileges: unshare mounts", func() error { return unix.Unshare(unix.CLONE_NEWNS) }},
		{"privileges: clone", func() error { return spawn(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}) }}, {"privileges: chroot", func() error { return unix.Chroot(dir) }},
		{"privileges: mount", func() error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "") }}, {"privileges: umount", func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
		{"privileges: setns", call(unix.SYS_SETNS, 0, 0)}, {"privileges: pivot_root", func() error { return unix.PivotRoot(dir, dir) }}, {"privileges: sethostname", func() error { return unix.Sethostname([]byte("x")) }},
		{"privileges: setgroups", func() error { return unix.Setgroups([]int{0}) }},
		{"calls: open_tree", call(unix.SYS_OPEN_TREE, ^uintptr(0), 0, 0)}, {"calls: fsopen", call(unix.SYS_FSOPEN, 0, 0)}, {"calls: move_mount", call(unix.SYS_MOVE_MOUNT)}, {"calls: mount_setattr", call(unix.SYS_MOUNT_SETATTR)},
		{"calls: keyctl", call(unix.SYS_KEYCTL, 0, ^uintptr(2), 0)}, {"calls: add_key", call(unix.SYS_ADD_KEY)}, {"calls: request_key", call(unix.SYS_REQUEST_KEY)}, {"calls: bpf", call(unix.SYS_BPF, 0, 0, 0)},
		{"calls: perf", call(unix.SYS_PERF_EVENT_OPEN)}, {"calls: userfaultfd", call(unix.SYS_USERFAULTFD, 1)}, {"calls: io_uring", call(unix.SYS_IO_URING_SETUP, 1, 0)}, {"calls: memfd", call(unix.SYS_MEMFD_CREATE, 0, 0)},
		{"calls: memfd_secret", call(unix.SYS_MEMFD_SECRET, 0)}, {"calls: shmget", call(unix.SYS_SHMGET, 0, 4096, 0o1600)}, {"calls: msgget", call(unix.SYS_MSGGET, 0, 0o1600)}, {"calls: semget", call(unix.SYS_SEMGET, 0, 1, 0o1600)},
		{"calls: kexec", call(unix.SYS_KEXEC_LOAD)}, {"calls: init_module", call(unix.SYS_INIT_MODULE)}, {"calls: finit_module", call(unix.SYS_FINIT_MODULE, ^uintptr(0))}, {"calls: delete_module", call(unix.SYS_DELETE_MODULE)},
		{"calls: swapon", call(unix.SYS_SWAPON)}, {"calls: acct", call(unix.SYS_ACCT, 1)}, {"calls: quotactl", call(unix.SYS_QUOTACTL)}, {"calls: syslog", call(unix.SYS_SYSLOG, 3, 0, 0)}, {"calls: settimeofday", call(unix.SYS_SETTIMEOFDAY)},
		{"calls: clock_settime", call(unix.SYS_CLOCK_SETTIME)}, {"calls: adjtimex", call(unix.SYS_ADJTIMEX)}, {"calls: personality", call(unix.SYS_PERSONALITY, 0x0040000)}, {"calls: open_by_handle", call(unix.SYS_OPEN_BY_HANDLE_AT)},
		{"calls: fanotify", call(unix.SYS_FANOTIFY_INIT)}, {"calls: kcmp", call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), 0)}, {"calls: pidfd_getfd", call(unix.SYS_PIDFD_GETFD)}, {"calls: new ones", call(460 + 40)},
		{"calls: TIOCSTI", call(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(new(byte))))}, {"calls: TIOCLINUX", call(unix.SYS_IOCTL, 0, 0x541C, 0)}, {"calls: vhangup", call(unix.SYS_VHANGUP)},
		{"calls: process_vm_readv", call(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), 0, 0, 0, 0, 0)}, {"processes: ptrace init", func() error { return unix.PtraceAttach(1) }},
		{"processes: signal outside", func() error { return signal(os.Getenv("ATTACK_PID")) }}, {"processes: see outside", func() error { return see("/proc/" + orNone(os.Getenv("ATTACK_PID")) + "/comm")() }},
		{"environment: own", func() error { return holds("/proc/self/environ") }}, {"environment: of init", func() error { return holds("/proc/1/environ") }}, {"environment: memory of init", read("/proc/1/mem")},
		{"environment: descriptors", descriptors}, {"cpu: affinity", affinity}, {"tasks: limits of init", func() error { return unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4, Max: 4}, nil) }},
		{"descriptors: more files", func() error { return raise(unix.RLIMIT_NOFILE) }}, {"memory: more data", func() error { return raise(unix.RLIMIT_DATA) }}, {"tasks: more", func() error { return raise(unix.RLIMIT_NPROC) }},
		{"temporary: host's /tmp", func() error {
			for _, p := range list("ATTACK_TMP") {
				if see(p)() == nil {
					return nil
				}
			}
			return unix.ENOENT
		}},
	}
	for _, p := range list("ATTACK_HIDDEN") {
		for _, way := range []string{"", "/proc/1/root", "/proc/self/root", "/proc/1/cwd/../../../../../.."} {
			all = append(all, attempt{"secrets: read " + way + p, read(way + p)})
		}
		all = append(all, attempt{"secrets: link to " + p, func() error { return linked(dir, name, p) }}, attempt{"secrets: see " + p, see(p)})
	}
	return all
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func linked(dir, name, target string) error {
	link := filepath.Join(dir, name+"l")
	os.Remove(link)
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	defer os.Remove(link)
	if read(link)() == nil {
		return nil
	}
	return os.Link(target, link+"2")
}

func setID(set func(string) error) error {
	f, err := os.CreateTemp(".", "attack-")
	if err != nil {
		return err
	}
	f.Close()
	defer os.Remove(f.Name())
	return set(f.Name())
}

func spawn(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = attr
	return cmd.Run()
}

// capabilities tells whether there is one.
func capabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	for _, d := range data {
		if d.Effective|d.Permitted|d.Inheritable != 0 {
			return nil
		}
	}
	return unix.EPERM
}

func signal(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return unix.Kill(n, 0)
}

// holds tells whether a file holds the planted secret.
func holds(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.Contains(string(b), "planted-"+"value") {
		return nil
	}
	return unix.ENOENT
}

// descriptors looks for a descriptor that was inherited: those that Go has opened itself are no files.
func descriptors() error {
	for fd := 3; fd < 200; fd++ {
		path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/proc/") && !strings.HasPrefix(path, "/sys/") {
			return nil
		}
	}
	return unix.EBADF
}

func affinity() error {
	var all unix.CPUSet
	for i := range 64 {
		all.Set(i)
	}
	return unix.SchedSetaffinity(0, &all)
}

func raise(resource int) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Cur, l.Max = l.Max+1000, l.Max+1000
	return unix.Setrlimit(resource, &l)
}

// works are things that must work.
func works() []attempt {
	dir, _ := os.Getwd()
	return []attempt{
		{"write the workspace", func() error { return setID(func(string) error { return nil }) }},
		{"start a program", func() error { return spawn(nil) }},
		{"read the system", read("/usr/bin/env")},
		{"/dev/null", write("/dev/null")}, {"/dev/urandom", read("/dev/urandom")},
		{"a pair of sockets", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"change a mode", func() error { return setID(func(p string) error { return os.Chmod(p, 0o755) }) }},
		{"a pipe file", func() error { defer os.Remove(dir + "/fifo"); return unix.Mkfifo(dir+"/fifo", 0o600) }},
	}
}

// mode does one thing without end.
func mode(name string) {
	switch name {
	case "memory-shared":
		for n := 0; ; n++ {
			b, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
			if err != nil {
				fmt.Println("refused after", n*16, "MiB")
				syscall.Exit(3)
			}
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
		}
	case "output":
		b := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				syscall.Exit(4)
			}
		}
	}
	syscall.Exit(64)
}
