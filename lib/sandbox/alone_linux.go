package sandbox

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"path/filepath"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// aloneRights are what a program that starts no other is held to: what it executes, and what it reads. Whatever the
// settings, links and pointers in a repository name, git reads it nowhere but where the call itself may read.
const aloneRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir

// systemReads are what a program needs to start and to speak its user's language: what distributions put there, and
// nothing of this machine. The rest of /usr and all of /etc are not among it.
var systemReads = []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32",
	"/usr/local/lib",
	"/usr/share/locale", "/usr/share/i18n", "/usr/share/zoneinfo", "/usr/share/git-core", "/usr/libexec/git-core",
	"/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom"}

// newLast is what a program that starts no other is started with. Which files it may execute does not keep it from
// that: what may execute itself and the system's loader can run any file that it reads.
func newLast() (last, error) {
	var word [4]byte
	if _, err := rand.Read(word[:]); err != nil {
		return last{}, fmt.Errorf("confine a program: %w", err)
	}
	w := binary.NativeEndian.Uint32(word[:])
	p, err := startsNothing(w).Assemble()
	return last{p.Words(), uintptr(w)}, err
}

// startsNothing refuses every call that makes a process or a program, but threads, and the program that is started with
// the word.
func startsNothing(word uint32) seccomp.Filter {
	otherWord := seccomp.Arg{Index: 3, Op: seccomp.NotEqual, Value: word}
	thread := seccomp.Arg{Index: 0, Op: seccomp.MaskSet, Value: unix.CLONE_THREAD}
	return seccomp.Filter{Default: allow, Rules: []seccomp.Rule{
		{Syscalls: []uintptr{unix.SYS_EXECVE}, Args: []seccomp.Arg{otherWord}, Action: eperm},
		{Syscalls: []uintptr{unix.SYS_CLONE}, Args: []seccomp.Arg{thread}, Action: allow},
		{Syscalls: append([]uintptr{unix.SYS_CLONE, unix.SYS_EXECVEAT}, forksHere...), Action: eperm},
		{Syscalls: []uintptr{unix.SYS_CLONE3}, Action: enosys}, // its flags are in memory; libraries fall back on clone
	}}
}

// aloneExecutes are what may be executed for a program that starts no other: itself, and the system's loaders, which
// the kernel executes for it.
func aloneExecutes(program string) []string {
	files := []string{program}
	for _, pattern := range []string{"/lib*/ld-*.so*", "/lib/*/ld-*.so*", "/usr/lib*/ld-*.so*", "/usr/lib/*/ld-*.so*"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	return files
}

// allowAlone gives a rule set what a program that starts no other needs: to execute itself, and to read the system's
// libraries and what the call may read.
func allowAlone(ruleset int, reads []string, program string) error {
	for _, f := range aloneExecutes(program) {
		if err := allowBelow(ruleset, f, ll.AccessFSExecute|ll.AccessFSReadFile); err != nil {
			return err
		}
	}
	for _, path := range append(reads, systemReads...) {
		if err := allowBelow(ruleset, path, ll.AccessFSReadFile|ll.AccessFSReadDir); err != nil {
			return err
		}
	}
	return nil
}
