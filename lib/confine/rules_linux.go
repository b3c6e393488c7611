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
	WriteFiles = uint64(1<<15 - 1) // all rights up to the third version; not to talk to devices
	fileOnly   = uint64(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev)
)

// Rules is a Landlock rule set that handles everything the kernel offers: what no rule allows is refused.
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
		// Before this was mended (Linux 6.15), a thread that is held could not signal one of the same process that is not
		// yet, by which the runtime reaches its threads to hold them all: it would wait for ever.
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

// Close forgets the rules; what is in force stays.
func (r *Rules) Close() { syscall.Close(r.fd) }

// Allow allows rights over what lies at and below a path. What is not there needs none.
func (r *Rules) Allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENXIO) {
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
	if err := ll.LandlockAddPathBeneathRule(r.fd, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: rights}, 0); err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	return nil
}

// talk is the right to control devices, where it is one.
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
		if err := ll.LandlockAddNetPortRule(r.fd, &ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(p)}, 0); err != nil {
			return fmt.Errorf("landlock: port %d: %w", p, err)
		}
	}
	return nil
}

// Restrict puts the rules in force, for good: for all threads, or for the calling one, which is locked, and for what is
// started from it. It needs no_new_privs.
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
