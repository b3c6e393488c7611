package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// secrets attempts to read and to see files of the user.
func (w world) secrets() []attempt {
	var all []attempt
	for _, p := range w.hidden {
		for _, way := range []string{"", "/proc/1/root", "/proc/self/root", "/proc/1/cwd/../../../../../..",
			"/proc/thread-self/root", "/proc/" + orNone(w.pid) + "/root", "/proc/" + orNone(w.pid) +
				"/cwd/../../../../../.."} {
			all = append(all, attempt{"secrets: read " + way + p, read(way + p)})
		}
		up := "../../../../../../../../../.."
		all = append(all, attempt{"secrets: link to " + p, func() error { return linked(w.dir, w.name, p) }},
			attempt{"secrets: read from above " + p, read(up + p)},
			attempt{"secrets: list the directory of " + p, read2(filepath.Dir(p))},
			attempt{"secrets: run " + p, func() error { return unix.Exec(p, []string{p}, nil) }},
			attempt{"secrets: map " + p, func() error {
				return opened(p, unix.O_RDONLY, func(fd int) error {
					_,
						err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
					return err
				})
			}},
			attempt{"secrets: copy " + p, func() error {
				return opened(p, unix.O_PATH, func(fd int) error { return read("/proc/self/fd/" + strconv.Itoa(fd))() })
			}},
			attempt{"secrets: attributes of " + p,
				func() error { _, err := unix.Getxattr(p, "user.attack", make([]byte, 9)); return attribute(err) }},
			attempt{"secrets: attributes of " + p + " itself",
				func() error { _, err := unix.Lgetxattr(p, "user.attack", make([]byte, 9)); return attribute(err) }},
			attempt{"secrets: attribute names of " + p, func() error { _, err := unix.Listxattr(p, nil); return err }},
			attempt{"secrets: attribute names of " + p + " itself",
				func() error { _, err := unix.Llistxattr(p, nil); return err }},
			attempt{"secrets: watch " + p, func() error { return watch(p) }},
			attempt{"secrets: watch the directory of " + p, func() error { return watch(filepath.Dir(p)) }},
			// What an engine that hides nothing says that it shows:
			attempt{"secrets: see " + p, see(p)},
			attempt{"secrets: see by statx " + p,
				func() error { return unix.Statx(unix.AT_FDCWD, p, 0, unix.STATX_ALL, &unix.Statx_t{}) }},
			attempt{"secrets: see by access " + p, func() error { return unix.Access(p, unix.F_OK) }},
			attempt{"secrets: see by statfs " + p, func() error { return unix.Statfs(p, &unix.Statfs_t{}) }},
			attempt{"secrets: see by open " + p, func() error { return opened(p, unix.O_PATH, nil) }},
			attempt{"secrets: see by chdir " + p, func() error { return within(filepath.Dir(p)) }})
	}
	return append(all, attempt{"temporary: host's /tmp", see(w.tmp)},
		attempt{"temporary: read the host's /tmp", read(w.tmp)},
		attempt{"temporary: list the host's /tmp", func() error {
			entries, err := os.ReadDir(filepath.Dir(w.tmp))
			if err == nil && len(entries) == 0 {
				return unix.ENOENT
			}
			return err
		}})
}

func read2(dir string) func() error {
	return func() error { _, err := os.ReadDir(dir); return err }
}

func watch(p string) error {
	fd, err := unix.InotifyInit1(0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, p, unix.IN_ALL_EVENTS)
	return err
}

// within enters a directory and comes back.
func within(dir string) error {
	back, err := os.Getwd()
	if err != nil {
		return err
	}
	defer unix.Chdir(back)
	return unix.Chdir(dir)
}

// places attempts to write where nothing may be written, and to read what nobody may.
func (w world) places() []attempt {
	all := []attempt{}
	for _, d := range []string{"/etc", "/usr", "/usr/bin", "/usr/lib", "/bin", "/sbin", "/lib", "/", "/var", "/var/log",
		"/var/spool/cron", "/root", "/home", "/opt", "/srv", "/run", "/mnt",
		"/boot", "/sys", "/dev", "/dev/pts", "/dev/mqueue", "/proc", "/sys/fs/cgroup", "/sys/kernel"} {
		all = append(all, attempt{"files: make one in " + d, write(d + "/" + w.name)},
			attempt{"files: make a directory in " + d, func() error { return unix.Mkdir(d+"/"+w.name+"d", 0o755) }})
	}
	for _, p := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/yama/ptrace_scope",
		"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/randomize_va_space", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/vm/drop_caches", "/proc/sys/fs/binfmt_misc/register",
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces", "/proc/sysrq-trigger",
		"/proc/1/oom_score_adj", "/proc/1/mem", "/proc/1/environ", "/proc/1/attr/current",
		"/proc/1/uid_map", "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups",
		"/proc/irq/default_smp_affinity", "/proc/bus/pci/00", "/proc/self/exe",
		"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/debug/x",
		"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/loop-control",
		"/dev/uinput", "/dev/tty", "/dev/tty1", "/dev/console", "/dev/ptmx", "/dev/pts/ptmx", "/dev/sda", "/dev/vda",
		"/dev/net/tun", "/dev/vsock", "/dev/vhost-net", "/dev/rtc0", "/dev/hpet"} {
		all = append(all, attempt{"files: write " + p, func() error { return changed(p) }})
	}
	for _, d := range []string{"null", "zero", "full", "random", "urandom"} {
		p := "/dev/" + d
		all = append(all, attempt{"files: mode of " + p, func() error { return unix.Chmod(p, 0o666) }},
			attempt{"files: owner of " + p, func() error { return unix.Chown(p, os.Getuid(), -1) }},
			attempt{"files: times of " + p, func() error { return raw(unix.SYS_UTIMENSAT, cwd, str(p), 0, 0) }},
			attempt{"files: mode of " + p + " by descriptor",
				func() error { return opened(p, unix.O_RDWR, func(fd int) error { return unix.Fchmod(fd, 0o666) }) }})
	}
	for _, name := range []string{"uptime", "cpuinfo", "execdomains", "interrupts", "meminfo", "version", "self/stat",
		"1/stat"} {
		p := "/proc/" + name // its mode and times are those of the whole machine
		all = append(all, attempt{"files: mode of " + p, func() error { return unix.Chmod(p, 0o444) }},
			attempt{"files: owner of " + p, func() error { return unix.Chown(p, os.Getuid(), -1) }},
			attempt{"files: times of " + p, func() error { return raw(unix.SYS_UTIMENSAT, cwd, str(p), 0, 0) }})
	}
	for _, p := range []string{"/dev/mem", "/dev/kmsg", "/proc/kcore", "/proc/kmsg", "/proc/1/mem", "/proc/1/maps",
		"/proc/keys", "/proc/timer_list", "/etc/shadow", "/etc/gshadow",
		"/var/log/syslog", "/root/.bashrc", "/sys/kernel/debug/x", "/proc/sys/kernel/cap_last_cap2"} {
		all = append(all, attempt{"files: read " + p, read(p)})
	}
	return all
}

// changed opens what is there to write.
func changed(p string) error {
	fd, err := unix.Open(p, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !strings.HasPrefix(p, "/proc/") || strings.HasPrefix(p, "/proc/sys") {
		return nil
	}
	// Files about processes open, and may take nothing.
	for _, text := range []string{"deny", "0 0 1", "-1000", "changeprofile x"} {
		if _, err = unix.Write(fd, []byte(text)); err == nil {
			return nil
		}
	}
	return err
}

// protected attempts what a workspace must not become.
func (w world) protected() []attempt {
	d := w.dir
	return []attempt{{"files: .git/config", write(d + "/.git/config")},
		{"files: .git/hooks", write(d + "/.git/hooks/" + w.name)},
		{"files: nested .git", write(d + "/sub/.git/config")},
		{"files: .git/config by link", func() error {
			if err := unix.Symlink(".git", d+"/"+w.name+"g"); err != nil {
				return err
			}
			return write(d + "/" + w.name + "g/config")()
		}},
		{"files: .git/config by another case", func() error { return changed(d + "/.GIT/config") }},
		{"files: .git/config hard link", func() error { return unix.Link(d+"/.git/config", d+"/"+w.name+"h") }},
		{"files: .git chmod", func() error {
			return opened(d+"/.git", unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, 0o777) })
		}},
		{"files: .git times", func() error {
			return opened(d+"/.git", unix.O_RDONLY,
				func(fd int) error { return raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0) })
		}},
		{"files: .git by exchange", func() error {
			os.Mkdir(d+"/"+w.name+"x", 0o755)
			return unix.Renameat2(unix.AT_FDCWD, d+"/"+w.name+"x", unix.AT_FDCWD, d+"/.git", unix.RENAME_EXCHANGE)
		}},
		{"files: move .git", func() error { return os.Rename(d+"/.git", d+"/git"+w.name) }},
		{"files: move the workspace", func() error { return os.Rename(d, d+"2") }},
		{"files: remove the workspace", func() error { return unix.Rmdir(d) }}}
}

// modes attempts to make set-id files and devices in the workspace.
func (w world) modes() []attempt {
	n := w.dir + "/" + w.name
	var all []attempt
	for name, bits := range map[string]uint32{"user": 0o4755, "group": 0o2755, "both": 0o6755, "sticky": 0o7777} {
		all = append(all, attempt{"privileges: chmod set-id " + name,
			func() error { return setID(func(p string) error { return unix.Chmod(p, bits) }) }},
			attempt{"privileges: fchmod set-id " + name, func() error {
				return setID(func(p string) error {
					return opened(p, unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, bits) })
				})
			}},
			attempt{"privileges: fchmodat set-id " + name, func() error {
				return setID(func(p string) error { return raw(unix.SYS_FCHMODAT, cwd, str(p), uintptr(bits)) })
			}},
			attempt{"privileges: fchmodat2 set-id " + name, func() error {
				return setID(func(p string) error { return raw(unix.SYS_FCHMODAT2, cwd, str(p), uintptr(bits), 0) })
			}},
			attempt{"privileges: open set-id " + name,
				func() error { return made(n+"s"+name, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, bits) }},
			attempt{"privileges: a temporary file set-id " + name,
				func() error { return made(w.dir, unix.O_TMPFILE|unix.O_RDWR, bits) }},
			attempt{"privileges: mknod set-id " + name,
				func() error { return unix.Mknod(n+"k"+name, unix.S_IFREG|bits, 0) }},
			attempt{"privileges: mkfifo set-id " + name,
				func() error { return unix.Mknod(n+"f"+name, unix.S_IFIFO|bits, 0) }},
			attempt{"privileges: character device " + name,
				func() error { return unix.Mknod(n+"c"+name, unix.S_IFCHR|bits&0o777, 0x103) }},
			attempt{"privileges: block device " + name,
				func() error { return unix.Mknod(n+"b"+name, unix.S_IFBLK|bits&0o777, 0x800) }})
	}
	capability := "\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	return append(all, attempt{"privileges: capabilities of a file", func() error {
		return setID(func(p string) error { return unix.Setxattr(p, "security.capability", []byte(capability), 0) })
	}},
		attempt{"privileges: give a file away",
			func() error { return setID(func(p string) error { return unix.Chown(p, 12345, -1) }) }},
		attempt{"privileges: the wiped-out device", func() error { return unix.Mknod(n+"w", unix.S_IFCHR, 0) }})
}

func made(p string, flags int, mode uint32) error {
	fd, err := unix.Open(p, flags, mode)
	if err == nil {
		unix.Close(fd)
	}
	return err
}
