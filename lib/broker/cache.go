package broker

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/place"
	"clawsh/lib/sandbox"
)

// cacheDir is where a workspace's programs keep what they have built and downloaded: in clawsh's home, which no tool
// reads and no other workspace sees. It belongs to the directory, not to its name alone: what is put in its place
// begins anew.
func cacheDir(cfg *config.Config) string {
	if !cfg.Sandbox.Cache || cfg.Sandbox.Deterministic {
		return ""
	}
	workspace := place.Real(cfg.WorkspaceDir)
	info, err := os.Stat(workspace)
	if err != nil {
		return ""
	}
	mark := config.Mark(workspace, place.Identity(info))
	sum := sha256.Sum256([]byte(workspace + "\x00" + mark))
	return filepath.Join(place.Real(cfg.Home), "cache", fmt.Sprintf("%x", sum[:12]))
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

// sweepCaches removes what is oldest in all caches until no more than so many bytes are left. One process does it at a
// time.
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
	sweep(root, most, now)
}
