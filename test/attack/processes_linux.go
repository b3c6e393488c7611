package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spaces are the kinds of namespaces.
var spaces = map[string]uintptr{"user": unix.CLONE_NEWUSER, "mnt": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID,
	"net": unix.CLONE_NEWNET, "ipc": unix.CLONE_NEWIPC,
	"uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME}

// namespaces attempts to make and to enter each kind.
func (w world) namespaces() []attempt {
	var all []attempt
	for name, flag := range spaces {
		all = append(all, attempt{"privileges: unshare " + name, func() error { return unix.Unshare(int(flag)) }},
			attempt{"privileges: unshare " + name + " with a user",
				func() error { return unix.Unshare(int(flag | unix.CLONE_NEWUSER)) }},
			attempt{"privileges: clone3 into " + name, func() error {
				args := [11]uint64{0: uint64(flag) | unix.CLONE_VFORK, 4: uint64(unix.SIGCHLD)}
				return raw(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
			}})
		if name != "time" {
			all = append(all, attempt{"privileges: clone into " + name,
				func() error { return spawn(&syscall.SysProcAttr{Cloneflags: flag}) }},
				attempt{"privileges: clone into user and " + name,
					func() error { return spawn(&syscall.SysProcAttr{Cloneflags: flag | unix.CLONE_NEWUSER}) }})
		}
		for _, pid := range []string{"1", "self", orNone(w.pid)} {
			all = append(all, attempt{fmt.Sprintf("privileges: enter %s of %s", name, pid), func() error {
				return opened("/proc/"+pid+"/ns/"+name, unix.O_RDONLY, func(fd int) error { return unix.Setns(fd, 0) })
			}})
		}
	}
	return append(all, attempt{"privileges: unshare files and more",
		func() error { return unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWUSER) }},
		attempt{"privileges: mount", func() error { return unix.Mount("tmpfs", w.dir, "tmpfs", 0, "") }},
		attempt{"privileges: bind", func() error { return unix.Mount("/", w.dir, "", unix.MS_BIND|unix.MS_REC, "") }},
		attempt{"privileges: remount",
			func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		attempt{"privileges: umount", func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
		attempt{"privileges: chroot", func() error { return unix.Chroot(w.dir) }},
		attempt{"privileges: pivot_root", func() error { return unix.PivotRoot(w.dir, w.dir) }},
		attempt{"privileges: sethostname", func() error { return unix.Sethostname([]byte("x")) }})
}

// processes attempts to see, to signal and to change a process of the same user outside, and the first one of the
// sandbox.
func (w world) processes() []attempt {
	pid, err := strconv.Atoi(w.pid)
	if err != nil {
		pid = 1 << 30
	}
	n := uintptr(pid)
	p := "/proc/" + orNone(w.pid) + "/"
	all := []attempt{{"processes: signal outside", func() error { return signal(w.pid) }},
		{"processes: tkill outside", func() error { return raw(unix.SYS_TKILL, n, 0) }},
		{"processes: tgkill outside", func() error { return raw(unix.SYS_TGKILL, n, n, 0) }},
		{"processes: queue a signal",
			func() error { return raw(unix.SYS_RT_SIGQUEUEINFO, n, 0, str(string(make([]byte, 128)))) }},
		{"processes: signal by descriptor", func() error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		}},
		{"processes: signal as an owner", func() error { return control(unix.F_SETOWN) }},
		{"processes: ptrace outside", func() error { return unix.PtraceAttach(pid) }},
		{"processes: seize outside", func() error { return unix.PtraceSeize(pid) }},
		{"processes: ptrace init", func() error { return unix.PtraceAttach(1) }},
		{"processes: trace me", func() error { return raw(unix.SYS_PTRACE, 0) }},
		{"processes: read memory", func() error { return vm(unix.SYS_PROCESS_VM_READV, n) }},
		{"processes: write memory", func() error { return vm(unix.SYS_PROCESS_VM_WRITEV, n) }},
		{"processes: take a descriptor", func() error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.PidfdGetfd(fd, 0, 0)
			return err
		}},
		{"processes: priority", func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 19) }},
		{"processes: priority of a group", func() error { return unix.Setpriority(unix.PRIO_PGRP, pid, 19) }},
		{"processes: priority of the user", func() error { return unix.Setpriority(unix.PRIO_USER, os.Getuid(), 19) }},
		{"processes: priority of everything of the user",
			func() error { return unix.Setpriority(unix.PRIO_USER, 0, 19) }},
		{"processes: io priority", func() error { return raw(unix.SYS_IOPRIO_SET, 1, n, 0x6000) }},
		{"processes: io priority of the user", func() error { return raw(unix.SYS_IOPRIO_SET, 3, own(), 0x6000) }},
		{"processes: scheduler", func() error {
			prio := int32(0)
			return raw(unix.SYS_SCHED_SETSCHEDULER, n, 5, uintptr(unsafe.Pointer(&prio)))
		}},
		{"processes: scheduler by attributes", func() error {
			attr := [14]uint32{0: 48, 1: 5}
			return raw(unix.SYS_SCHED_SETATTR, n, uintptr(unsafe.Pointer(&attr)), 0)
		}},
		{"processes: processors", func() error {
			var all unix.CPUSet
			all.Set(0)
			return unix.SchedSetaffinity(pid,
				&all)
		}},
		{"processes: limits", func() error { return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }},
		{"processes: read limits", func() error { return unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) }},
		{"processes: group", func() error { return unix.Setpgid(pid, pid) }},
		{"processes: move pages", call(unix.SYS_MIGRATE_PAGES, n, 1, 0, 0)},
		{"processes: see outside", see(p + "comm")}, {"processes: see outside, the directory", see(p)}}
	for _, f := range []string{"mem", "environ", "maps", "cmdline", "status", "stack", "syscall", "auxv", "pagemap",
		"io", "comm", "fd", "task", "root/", "cwd/", "map_files", "ns/net"} {
		all = append(all, attempt{"processes: read " + f + " outside", read(p + f)})
	}
	for _, f := range []string{"exe", "cwd", "root", "fd/0", "ns/user"} {
		all = append(all, attempt{"processes: follow " + f + " outside",
			func() error { _, err := os.Readlink(p + f); return err }})
	}
	for _, f := range []string{"mem", "oom_score_adj", "comm", "clear_refs", "coredump_filter", "timerslack_ns",
		"sched", "autogroup"} {
		all = append(all, attempt{"processes: write " + f + " outside", func() error { return changed(p + f) }})
	}
	return all
}

func vm(number, pid uintptr) error {
	b := make([]byte, 8)
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(8)
	return raw(number, pid, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&local)), 1, 0)
}

// self attempts to get back what the program was made to give up.
func (w world) self() []attempt {
	all := []attempt{{"privileges: setuid 0", func() error {
		if os.Getuid() == 0 {
			return unix.EPERM // it has that number already, and nothing behind it
		}
		return unix.Setuid(0)
	}}, {"privileges: another user", func() error { return unix.Setresuid(12345, 12345, 12345) }},
		{"privileges: another group", func() error { return unix.Setresgid(12345, 12345, 12345) }},
		{"privileges: setgroups", func() error { return unix.Setgroups([]int{0}) }},
		{"privileges: capabilities", capabilities},
		{"privileges: more capabilities", func() error {
			head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_CHOWN, Permitted: 1 << unix.CAP_CHOWN}}
			return unix.Capset(&head, &data[0])
		}}, {"privileges: a program with set-id", setIDProgram},
		{"environment: own", func() error { return holds("/proc/self/environ") }},
		{"environment: of init", func() error { return holds("/proc/1/environ") }},
		{"environment: memory of init", read("/proc/1/mem")}, {"environment: descriptors", descriptors},
		{"environment: descriptors of init", descriptorsOfInit},
		{"cpu: affinity", affinity}, {"cpu: in real time", func() error {
			prio := int32(1)
			return raw(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&prio)))
		}}, {"cpu: a higher priority", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) }},
		{"tasks: limits of init",
			func() error { return unix.Prlimit(1, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4, Max: 4}, nil) }}}
	for name, resource := range map[string]int{"descriptors: more files": unix.RLIMIT_NOFILE,
		"memory: more data": unix.RLIMIT_DATA, "tasks: more": unix.RLIMIT_NPROC,
		"descriptors: longer files": unix.RLIMIT_FSIZE, "cpu: more time": unix.RLIMIT_CPU,
		"memory: more locked": unix.RLIMIT_MEMLOCK, "memory: dumps": unix.RLIMIT_CORE,
		"memory: queues": unix.RLIMIT_MSGQUEUE, "tasks: more signals": unix.RLIMIT_SIGPENDING} {
		all = append(all, attempt{name, func() error { return raise(resource) }})
	}
	for name, resource := range map[string]int{"real time": unix.RLIMIT_RTPRIO, "nice": unix.RLIMIT_NICE} {
		all = append(all, attempt{"cpu: the limit of " + name, func() error { return raise(resource) }})
	}
	return all
}

// descriptorsOfInit looks for a descriptor of the first process that is not the program's, too.
func descriptorsOfInit() error {
	for fd := range 200 {
		path, err := os.Readlink("/proc/1/fd/" + strconv.Itoa(fd))
		if own, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && path != own &&
			!strings.HasPrefix(path, "anon_inode:") {
			return nil
		}
	}
	return unix.EACCES
}

// setIDProgram runs one of the system's: it must not become root by that.
func setIDProgram() error {
	for _, p := range []string{"/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount"} {
		cmd := exec.Command(p, "--help")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nil}
		if cmd.Start() != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
		cmd.Wait()
		if err == nil && os.Getuid() != 0 &&
			strings.Contains(string(status), "Uid:\t"+strconv.Itoa(os.Getuid())+"\t0") {
			return nil
		}
	}
	return unix.EPERM
}

// descriptors attempts tricks with what is open.
func (w world) descriptors() []attempt {
	sys := "/usr/bin/env"
	reopen := func(flags int) func() error {
		return func() error {
			return opened(sys, unix.O_RDONLY,
				func(fd int) error { return opened("/proc/self/fd/"+strconv.Itoa(fd), flags, nil) })
		}
	}
	all := []attempt{{"files: reopen to write", reopen(unix.O_WRONLY)},
		{"files: reopen to cut", reopen(unix.O_WRONLY | unix.O_TRUNC)},
		{"files: write the program itself", func() error { return changed("/proc/self/exe") }},
		{"files: above a directory that is open", func() error {
			return opened(w.dir, unix.O_PATH|unix.O_DIRECTORY, func(fd int) error {
				up, err := unix.Openat(fd, "../../../../../../etc/"+w.name, unix.O_CREAT|unix.O_WRONLY, 0o644)
				if err == nil {
					unix.Close(up)
				}
				return err
			})
		}},
		{"files: map shared and write", func() error {
			return opened(sys, unix.O_RDONLY, func(fd int) error {
				_, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
				return err
			})
		}},
		{"files: map shared, then protect", func() error {
			return opened(sys, unix.O_RDONLY, func(fd int) error {
				b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
				if err != nil {
					return err
				}
				return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)
			})
		}},
		{"files: a descriptor over a pair, then reopened", func() error { return passed(sys) }},
		{"files: splice into a page", func() error {
			return opened(sys, unix.O_RDONLY, func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err })
		}},
		{"calls: run memory", func() error { return unix.Exec("/proc/self/fd/99", []string{"x"}, nil) }},
		{"calls: run by descriptor", func() error {
			return opened(sys, unix.O_PATH,
				func(fd int) error { return raw(unix.SYS_EXECVEAT, uintptr(fd), str(""), 0, 0, unix.AT_EMPTY_PATH) })
		}}}
	for _, p := range w.hidden {
		all = append(all, attempt{"secrets: a descriptor of " + p + " over a pair", func() error { return passed(p) }},
			attempt{"secrets: open " + p + " for nothing and map it", func() error {
				return opened(p, unix.O_ACCMODE, func(fd int) error {
					_,
						err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
					return err
				})
			}},
			attempt{"secrets: send " + p, func() error {
				return opened(p, unix.O_PATH, func(fd int) error {
					_,
						err := unix.Sendfile(1, fd, nil, 10)
					return err
				})
			}})
	}
	return all
}

// passed sends a path's descriptor to itself, and opens what comes to write, or to read.
func passed(p string) error {
	return opened(p, unix.O_PATH, func(fd int) error {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
		if err := unix.Sendmsg(ends[0], []byte("x"), unix.UnixRights(fd), nil, 0); err != nil {
			return err
		}
		oob := make([]byte, 64)
		_, n, _, _, err := unix.Recvmsg(ends[1], make([]byte, 1), oob, 0)
		if err != nil {
			return err
		}
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil || len(messages) == 0 {
			return unix.EBADMSG
		}
		got, err := unix.ParseUnixRights(&messages[0])
		if err != nil {
			return err
		}
		defer unix.Close(got[0])
		flags := unix.O_WRONLY
		if strings.Contains(p, "/home/") {
			flags = unix.O_RDONLY
		}
		return opened("/proc/self/fd/"+strconv.Itoa(got[0]), flags, nil)
	})
}

// child runs this program again to call as another machine does, which ends it by a signal if it is refused.
func child(how string) error {
	cmd := exec.Command("/proc/self/exe", how)
	if self, err := os.Executable(); err == nil {
		cmd.Path = self
	}
	return cmd.Run()
}
