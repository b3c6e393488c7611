package confine

import (
	"errors"
	"fmt"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights over files, by what they are for.
const (
	ReadFiles  = uint64(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir)
	WriteFiles = uint64(1<<15 - 1) // all rights up to the third version, except controlling devices
	fileOnly   = uint64(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate |
		ll.AccessFSIoctlDev)
)

// Rules is a Landlock rule set that handles everything that the kernel offers: whatever no rule allows is denied.
type Rules struct {
	fd  int
	abi int
}

// NewRules makes an empty rule set for a version of Landlock, 3 or later.
func NewRules(abi int) (*Rules, error) {
	attr := ll.RulesetAttr{HandledAccessFS: WriteFiles}
	if abi >= 4 {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 5 {
		attr.HandledAccessFS |= ll.AccessFSIoctlDev
	}
	if abi >= 6 {
		attr.Scoped = ll.ScopeAbstractUnixSocket
		// Before Linux 6.15 fixed this, a restricted thread could not signal a thread of the same process that was not
		// restricted yet. The runtime signals its threads to restrict them all, so it would wait forever.
		const signalsMended = 1 << 1
		if errata, err := ll.LandlockGetErrata(); err == nil && errata&signalsMended != 0 {
			attr.Scoped |= ll.ScopeSignal
		}
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, fmt.Errorf("landlock: %w", err)
	}
	unix.CloseOnExec(fd)
	return &Rules{fd, abi}, nil
}

// Close releases the rule set; restrictions in force remain.
func (r *Rules) Close() { syscall.Close(r.fd) }

// Allow allows rights over a path and everything below it. A missing path is ignored.
func (r *Rules) Allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) ||
		errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileOnly
	}
	if rights == 0 {
		return nil
	}
	if err := ll.LandlockAddPathBeneathRule(r.fd, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights},
		0); err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	return nil
}

// talk is the right to control devices, if the kernel has one.
func (r *Rules) talk() uint64 {
	if r.abi >= 5 {
		return ll.AccessFSIoctlDev
	}
	return 0
}

// Connect allows connections to TCP ports; nil allows all of them.
func (r *Rules) Connect(ports []uint16) error {
	if r.abi < 4 {
		return nil
	}
	if ports == nil {
		return errors.New("landlock: name the ports")
	}
	for _, p := range ports {
		if err := ll.LandlockAddNetPortRule(r.fd,
			&ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(p)}, 0); err != nil {
			return fmt.Errorf("landlock: port %d: %w", p, err)
		}
	}
	return nil
}

// Restrict applies the rules permanently: to all threads, or to the calling thread, which must be locked, and to
// everything that it starts. It needs no_new_privs.
func (r *Rules) Restrict(allThreads bool) error {
	restrict := ll.LandlockRestrictSelf
	if allThreads {
		restrict = ll.AllThreadsLandlockRestrictSelf
	}
	if err := restrict(r.fd, 0); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}
