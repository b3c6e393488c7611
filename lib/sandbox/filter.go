//go:build linux

package sandbox

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
)

// group is an entry of the table of system calls: calls that are treated alike, and why.
type group struct {
	why   string
	do    seccomp.Action
	bare  seccomp.Action // where there are no namespaces (the landlock engine), if that is another; 0: the same
	calls []uintptr
}

// checked is an entry for calls whose arguments decide: the first case that holds, and Otherwise where none does.
type checked struct {
	why       string
	calls     []uintptr
	cases     []argCase
	otherwise seccomp.Action
}

// argCase is a class of arguments.
type argCase struct {
	why  string
	args []seccomp.Arg
	do   seccomp.Action
	bare bool // without namespaces only
}

// What becomes of calls. EPERM tells a program that it may not, ENOSYS that the kernel is older than the call, so that
// it takes the way it has for that.
const (
	allow = seccomp.Allow
	eperm = seccomp.Action(0x00050000 | uint32(unix.EPERM))

	enosys       = seccomp.Action(0x00050000 | uint32(unix.ENOSYS))
	einval       = seccomp.Action(0x00050000 | uint32(unix.EINVAL))
	enotty       = seccomp.Action(0x00050000 | uint32(unix.ENOTTY))
	enoprotoopt  = seccomp.Action(0x00050000 | uint32(unix.ENOPROTOOPT))
	eopnotsupp   = seccomp.Action(0x00050000 | uint32(unix.EOPNOTSUPP))
	eafnosupport = seccomp.Action(0x00050000 | uint32(unix.EAFNOSUPPORT))
)

// filter is what programs in the sandbox are held to: what the tables name, and nothing else. bare is for the engine
// without namespaces.
//
// The kernel remembers which calls are allowed whatever their arguments, and does not run the filter for these (since
// 5.11).
func filter(bare bool) seccomp.Filter {
	f := seccomp.Filter{Default: enosys}
	for _, c := range slices.Concat(checkedCalls, checkedHere) {
		for _, a := range c.cases {
			if bare || !a.bare {
				f.Rules = append(f.Rules, seccomp.Rule{Syscalls: c.calls, Args: a.args, Action: a.do})
			}
		}
		f.Rules = append(f.Rules, seccomp.Rule{Syscalls: c.calls, Action: c.otherwise})
	}
	by := map[seccomp.Action][]uintptr{}
	for _, g := range slices.Concat(groups, refusedCalls, groupsHere) {
		do := g.do
		if bare && g.bare != 0 {
			do = g.bare
		}
		by[do] = append(by[do], g.calls...)
	}
	for _, do := range []seccomp.Action{allow, eperm, eopnotsupp, seccomp.Notify} { // ENOSYS is the default
		if len(by[do]) > 0 {
			f.Rules = append(f.Rules, seccomp.Rule{Syscalls: by[do], Action: do})
		}
	}
	return f
}

// Programs are the filters, assembled.
var (
	program     = sync.OnceValues(func() (seccomp.Program, error) { return filter(false).Assemble() })
	bareProgram = sync.OnceValues(func() (seccomp.Program, error) { return filter(true).Assemble() })
)

// programFor is the filter of an engine.
func programFor(bare bool) (seccomp.Program, error) {
	if bare {
		return bareProgram()
	}
	return program()
}
