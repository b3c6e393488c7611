package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/place"
)

// Kinds of mounts.
const (
	mountRead  = "read"  // Source, to read
	mountWrite = "write" // Source, to write
	mountTmp   = "tmp"   // an empty file system of Bytes
	mountLink  = "link"  // a symbolic link with the text Source
	mountDir   = "dir"   // an empty directory, read-only: what covers another one
	mountNull  = "null"  // /dev/null in the place of a file
	mountDev   = "dev"   // a device
	mountProc  = "proc"  // the processes of the sandbox
)

// mount is one part of what a program sees.
type mount struct {
	Kind   string `json:"kind"`
	Source string `json:"source,omitzero"`
	Target string `json:"target"`
	Bytes  int64  `json:"bytes,omitzero"`
	IsFile bool   `json:"is_file,omitzero"`
	ID     string `json:"id,omitzero"` // the source's device and inode, if they are known
}

// errReplaced means that a directory is not the one that a name stood for.
var errReplaced = errors.New("another directory has replaced it")

func sameDirectory(path, id string) error {
	if id == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	if place.Identity(info) != id {
		return fmt.Errorf("show %s: %w", path, errReplaced)
	}
	return nil
}

// systemDirs hold programs and what they need. A link among them is made again.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// systemFiles are what programs need of /etc: nothing that is secret or about the network.
var systemFiles = []string{"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "passwd", "group",
	"nsswitch.conf", "localtime", "timezone",
	"mime.types", "magic", "terminfo", "inputrc", "protocols", "services", "os-release", "debian_version", "ssl/certs",
	"ssl/openssl.cnf",
	"ca-certificates", "pki/tls/certs", "python3", "perl", "fonts", "java"}

// devices are all there are. None of them can be asked for anything but bytes.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// view is all that a program sees, every directory before what lies in it.
func view(p Place, l Limits) ([]mount, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	m := append(system(), mount{Kind: mountTmp, Target: "/tmp", Bytes: l.TmpBytes},
		mount{Kind: mountTmp, Target: "/dev/shm", Bytes: l.TmpBytes},
		mount{Kind: mountProc, Target: "/proc"}, mount{Kind: mountLink, Source: "/tmp", Target: "/var/tmp"})
	for _, d := range devices {
		m = append(m, mount{Kind: mountDev, Source: "/dev/" + d, Target: "/dev/" + d, IsFile: true})
	}
	for link, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		m = append(m, mount{Kind: mountLink, Source: to, Target: "/dev/" + link})
	}
	for _, r := range slices.Concat(p.Read, p.Roots) {
		b, err := bind(mountRead, r)
		if errors.Is(err, fs.ErrNotExist) || shown(m, r) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m = append(m, b)
	}
	own, err := workspace(p)
	if err != nil {
		return nil, err
	}
	m = append(m, own...)
	if p.Home != "" {
		if err := sameDirectory(p.Home, p.HomeID); err != nil {
			return nil, err
		}
		m = append(m, mount{Kind: mountWrite, Source: p.Home, Target: cmp.Or(p.HomeSeen, p.Home), ID: p.HomeID})
	}
	if info, err := os.Lstat(p.Cache); p.Cache != "" && !p.ReadOnly && err == nil && info.IsDir() {
		m = append(m, mount{Kind: mountWrite, Source: p.Cache, Target: cmp.Or(p.CacheSeen, p.Cache)})
	}
	if p.Self != "" {
		m = append(m, mount{Kind: mountRead, Source: p.Self, Target: insidePath, IsFile: true})
	}
	hide := covers(m, p.Hidden)
	m = append(m, hide...)
	return sorted(append(m, ways(writableRoots(p, m), hide)...)), nil
}

// sorted puts every directory before what lies in it.
func sorted(m []mount) []mount {
	slices.SortStableFunc(m, func(a, b mount) int { return strings.Compare(a.Target, b.Target) })
	return m
}

// system is the part of the view that is the same for everybody.
func system() []mount {
	var m []mount
	for _, d := range systemDirs {
		if to, err := os.Readlink(d); err == nil {
			m = append(m, mount{Kind: mountLink, Source: to, Target: d})
		} else if b, err := bind(mountRead, d); err == nil {
			m = append(m, b)
		}
	}
	for _, f := range systemFiles {
		if b, err := bind(mountRead, "/etc/"+f); err == nil {
			m = append(m, b)
		}
	}
	return m
}

// bind is the mount of a path in its own place.
func bind(kind, path string) (mount, error) {
	info, err := os.Stat(path)
	if err != nil {
		return mount{}, fmt.Errorf("show %s: %w", path, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return mount{}, fmt.Errorf("show %s: it is neither a directory nor a regular file", path)
	}
	return mount{Kind: kind, Source: path, Target: path, IsFile: !info.IsDir()}, nil
}

// shown tells whether a path lies within what is shown already.
func shown(m []mount, path string) bool {
	return slices.ContainsFunc(m, func(have mount) bool {
		return (have.Kind == mountRead || have.Kind == mountWrite) && place.Within(have.Target, path)
	})
}

// stages are the directories of a staged workspace, and whether programs write there.
var stages = []struct {
	name  string
	write bool
}{{"input", false}, {"data", true}, {"output", true}}

// workspace shows the workspace: as a whole, and what in it is to be protected once more.
func workspace(p Place) ([]mount, error) {
	kind := mountWrite
	if p.Layout == Staged || p.ReadOnly {
		kind = mountRead
	}
	if err := sameDirectory(p.Workspace, p.ID); err != nil {
		return nil, err
	}
	m := []mount{{Kind: kind, Source: p.Workspace, Target: p.Workspace, ID: p.ID}}
	if p.Layout == Staged {
		for _, s := range stages {
			path := filepath.Join(p.Workspace, s.name)
			info, err := os.Lstat(path)
			if err != nil {
				return nil, fmt.Errorf("a staged workspace: %w", err)
			}
			if !info.IsDir() {
				return nil, fmt.Errorf("a staged workspace: %s is not a directory", path)
			}
			if s.write && !p.ReadOnly {
				m = append(m, mount{Kind: mountWrite, Source: path, Target: path})
			}
		}
	}
	guards, err := ground(p, m)
	return append(m, guards...), err
}

// covers hides what lies within what is shown.
func covers(m []mount, hidden []string) []mount {
	var out []mount
	for _, h := range hidden {
		if !shown(m, h) {
			continue
		}
		info, err := os.Lstat(h)
		switch {
		case err != nil, info.Mode()&fs.ModeSymlink != 0: // where it leads is another path
		case info.IsDir():
			out = append(out, mount{Kind: mountDir, Target: h})
		default:
			out = append(out, mount{Kind: mountNull, Target: h, IsFile: true})
		}
	}
	return out
}
