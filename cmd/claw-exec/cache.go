package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/sandbox"
)

// cacheDir is where a workspace's programs keep what they have built and downloaded: in clawsh's home, which no tool reads and
// no other workspace sees. It belongs to the directory, not to its name alone: what is put in its place begins anew.
func cacheDir(cfg *config.Config) string {
	if !cfg.Sandbox.Cache || cfg.Sandbox.Deterministic {
		return ""
	}
	workspace := real(cfg.WorkspaceDir)
	info, err := os.Stat(workspace)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", workspace, st.Dev, st.Ino))
	return filepath.Join(real(cfg.Home), "cache", fmt.Sprintf("%x", sum[:12]))
}

// cacheSeen is where programs see it.
func cacheSeen(cfg *config.Config) string {
	dir := cacheDir(cfg)
	switch cfg.Security.Sandbox {
	case "auto", sandbox.Native, sandbox.Bubblewrap:
		if dir != "" {
			return "/run/cache"
		}
	}
	return dir
}

// makeCache makes the cache, and sweeps all of them if nobody has for a while.
func makeCache(dir string, most int64) {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return // then there is none: programs begin anew
	}
	go sweepCaches(filepath.Dir(dir), most)
}

// sweepEvery is how long one sweep counts.
const sweepEvery = 10 * time.Minute

// sweepCaches removes what is oldest in all caches until no more than so many bytes are left. One process does it at a time.
func sweepCaches(dir string, most int64) {
	stamp := filepath.Join(dir, "swept")
	if info, err := os.Lstat(stamp); err == nil && time.Since(info.ModTime()) < sweepEvery {
		return
	}
	lock, err := durable.Alone(stamp)
	if err != nil || lock == nil {
		return
	}
	defer lock.Close()
	now := time.Now()
	_ = os.Chtimes(stamp, now, now)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	sweep(root, most)
}

// unit is what is removed as a whole.
type unit struct {
	path  string
	bytes int64
	used  time.Time
}

// sweep removes units, the oldest first. All goes through the root: a program may have put links there, and may be changing them.
func sweep(root *os.Root, most int64) {
	units := map[string]*unit{}
	total := int64(0)
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/") {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		name := unitOf(path)
		u := units[name]
		if u == nil {
			u = &unit{path: name}
			units[name] = u
		}
		u.bytes += info.Size()
		total += info.Size()
		if info.ModTime().After(u.used) {
			u.used = info.ModTime()
		}
		return nil
	})
	all := make([]*unit, 0, len(units))
	for _, u := range units {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *unit) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.path, b.path)) })
	for _, u := range all {
		if total <= most {
			return
		}
		if root.RemoveAll(u.path) == nil {
			total -= u.bytes
		}
	}
}

// unitOf is what a file is removed with: single files of Go's cache of builds, which misses them and builds again; everything of
// another kind of one workspace, since half a module is worse than none.
func unitOf(path string) string {
	parts := strings.SplitN(path, "/", 3)
	if len(parts) < 3 || parts[1] == "go-build" {
		return path
	}
	return parts[0] + "/" + parts[1]
}
