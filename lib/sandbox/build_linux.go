package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes of what is mounted. Nothing of it is a device, but for the devices, and no program in it gains rights.
const (
	attrRead  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	attrWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	// A device takes what is written to it all the same; its mode, owner and times are the host's.
	attrDev = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
)

// part is a mount whose source is held by a descriptor.
type part struct {
	mount
	fd int
}

// build makes the view the root of this process, and lets go of the old one.
func build(o *order) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("detach from the host's mounts: %w", err)
	}
	// Sources are taken before the new root is mounted: it may cover the directories that they lie in.
	parts, err := take(o.View)
	if err != nil {
		return err
	}
	root := o.Scratch
	if err := unix.Mount("root", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	for _, p := range parts {
		if err := p.place(root, o); err != nil {
			return fmt.Errorf("show %s: %w", p.Target, err)
		}
	}
	if err := unix.Chdir(root); err != nil {
		return err
	}
	// Both at one place (pivot_root(2), NOTES): the old root lies over the new one, and is taken off.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: attrRead}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	return unix.Chdir("/")
}

// take holds the sources of a view.
func take(view []mount) ([]part, error) {
	parts := make([]part, 0, len(view))
	for _, m := range view {
		p := part{mount: m, fd: -1}
		source, attr := m.Source, uint64(attrRead)
		switch m.Kind {
		case mountRead:
		case mountWrite:
			attr = attrWrite
		case mountDev:
			attr = attrDev
		case mountNull:
			source, attr = "/dev/null", attrRead&^unix.MOUNT_ATTR_NODEV
		default:
			parts = append(parts, p)
			continue
		}
		fd, err := clone(source, attr)
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", m.Source, err)
		}
		if !m.is(fd) {
			unix.Close(fd)
			return nil, fmt.Errorf("show %s: %w", m.Source, errReplaced)
		}
		p.fd = fd
		parts = append(parts, p)
	}
	return parts, nil
}

// is tells whether a descriptor is of the directory that was meant: between a look at a name and its use another one
// can take it.
func (m mount) is(fd int) bool {
	var st unix.Stat_t
	return m.ID == "" || unix.Fstat(fd, &st) == nil && fmt.Sprintf("%d:%d", uint64(st.Dev), uint64(st.Ino)) == m.ID
}

// clone makes a detached copy of a mount, with all below it.
func clone(source string, attr uint64) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, err
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: attr}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// place puts a part where it belongs below the new root.
func (p part) place(root string, o *order) error {
	target := filepath.Join(root, p.Target)
	if err := p.makeTarget(target); err != nil {
		return err
	}
	switch p.Kind {
	case mountLink:
		return os.Symlink(p.Source, target)
	case mountTmp:
		return unix.Mount("tmp", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size="+
			strconv.FormatInt(p.Bytes, 10)+",nr_inodes=20000")
	case mountDir:
		return unix.Mount("hidden", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, "mode=0755,size=4k")
	case mountProc:
		return placeProc(target, o.PidMax)
	}
	if p.fd < 0 {
		return fmt.Errorf("there is no mount of the kind %q", p.Kind)
	}
	defer unix.Close(p.fd)
	return unix.MoveMount(p.fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// makeTarget makes what is mounted over. Where it is there already, as in another mount, it is left.
func (p part) makeTarget(target string) error {
	err := p.create(target)
	if errors.Is(err, unix.ENOENT) {
		if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
			err = p.create(target)
		}
	}
	// File systems differ in what they say of what is there and cannot be made.
	if err != nil && unix.Lstat(target, &unix.Stat_t{}) == nil {
		return nil
	}
	return err
}

// create makes a file or a directory. Of a link it only finds out whether there is a directory for it.
func (p part) create(target string) error {
	switch {
	case p.Kind == mountLink:
		return unix.Access(filepath.Dir(target), unix.F_OK)
	case p.IsFile: // os.OpenFile would have the file polled
		fd, err := unix.Open(target, unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
	return unix.Mkdir(target, 0o755)
}

// What of /proc is about the machine and not about processes: read-only, or empty.
var (
	procRead = []string{"sys", "irq", "bus", "fs", "sysrq-trigger"}
	procNull = []string{"kcore", "keys", "key-users", "timer_list", "kallsyms", "kmsg", "sched_debug", "latency_stats",
		"modules"}
)

func placeProc(target string, pidMax int) error {
	err := unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if errors.Is(err, unix.EPERM) {
		return errors.New("the kernel does not allow it to mount its own /proc, because parts of the host's are masked, as in a container; " +
			"give the container an unmasked /proc")
	}
	if err != nil {
		return err
	}
	if pidMax > 0 {
		if err := os.WriteFile(target+"/sys/kernel/pid_max", []byte(strconv.Itoa(pidMax)), 0); err != nil {
			return fmt.Errorf("limit processes: %w", err)
		}
	}
	for _, name := range procRead {
		if err := cover(target+"/"+name, target+"/"+name, attrRead|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for _, name := range procNull {
		if err := cover("/dev/null", target+"/"+name, attrRead&^unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	// The modes and times of its files are the whole machine's, whoever mounts it.
	return unix.MountSetattr(unix.AT_FDCWD, target, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// cover mounts one path over another that is there.
func cover(source, target string, attr uint64) error {
	fd, err := clone(source, attr)
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		return err
	}
	defer unix.Close(fd)
	err = unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) && !strings.HasSuffix(target, "/sys") {
		return nil
	}
	return err
}
