package broker

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"clawsh/lib/durable"
)

const (
	maxCacheDepth   = 64      // of directories in a cache: builders make fewer
	maxCacheEntries = 500_000 // of one workspace
	entryBytes      = 512     // what a name costs, be there nothing in the file
	inBatches       = 1000
)

// unit is what is removed as a whole.
type unit struct {
	cache *os.Root // of its workspace
	path  string   // there
	bytes int64
	used  time.Time
	one   bool // a file, or a directory that is empty
}

// sweep removes units, the oldest first. Programs may have put links, odd names and endless directories there, and may
// be changing all of it: each cache has a root of its own, so that no link leads out of it or into that of another
// workspace.
func sweep(root *os.Root, most int64, now time.Time) {
	var all []*unit
	total := int64(0)
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		cache, err := root.OpenRoot(name)
		if err != nil {
			continue // the stamp
		}
		defer cache.Close()
		durable.Remove(cache, durable.Trash) // what a sweep before has left
		units, bytes := measure(cache, now)
		all, total = append(all, units...), total+bytes
	}
	slices.SortFunc(all,
		func(a, b *unit) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.path, b.path)) })
	for _, u := range all {
		if total <= most {
			return
		}
		if u.remove() {
			total -= u.bytes
		}
	}
}

func (u *unit) remove() bool {
	if u.one {
		return u.cache.Remove(u.path) == nil
	}
	return durable.Remove(u.cache, u.path)
}

// survey is the measuring of one cache.
type survey struct {
	cache   *os.Root
	now     time.Time
	units   map[string]*unit
	entries int
	bytes   int64
}

// measure finds the units of a cache. One that no builder makes, too deep or with too many names, goes as a whole, now.
func measure(cache *os.Root, now time.Time) ([]*unit, int64) {
	s := survey{cache: cache, now: now, units: map[string]*unit{}}
	if !s.dir(".", 0) {
		durable.Remove(cache, ".")
		return nil, 0
	}
	units := make([]*unit, 0, len(s.units))
	for _, u := range s.units {
		units = append(units, u)
	}
	return units, s.bytes
}

// dir measures a directory, and tells whether it is one that a builder may have made.
func (s *survey) dir(at string, depth int) bool {
	if depth > maxCacheDepth {
		return false
	}
	d, err := durable.OpenDir(s.cache, at)
	if err != nil {
		return true
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(inBatches)
		for _, e := range entries {
			if s.entries++; s.entries > maxCacheEntries {
				return false
			}
			name := path.Join(at, e.Name())
			s.count(name, e)
			if e.IsDir() && !s.dir(name, depth+1) {
				return false
			}
		}
		if err != nil {
			return true
		}
	}
}

// count counts what an entry takes of the disk, which is not what it says its length is. What says that it is of the
// future is the oldest: it shall not outlive the caches of others.
func (s *survey) count(name string, e fs.DirEntry) {
	info, err := e.Info()
	if err != nil {
		return
	}
	bytes := int64(entryBytes)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		bytes += st.Blocks * 512
	}
	s.bytes += bytes
	of, one := unitOf(name)
	if base, ok := strings.CutPrefix(name, "go-build/"); ok && len(base) == 2 &&
		strings.Trim(base, "0123456789abcdef") == "" {
		return // go makes these when it starts, and needs them
	}
	u := s.units[of]
	if u == nil {
		u = &unit{cache: s.cache, path: of, one: one}
		s.units[of] = u
	}
	u.bytes += bytes
	if at := info.ModTime(); !e.IsDir() && at.After(u.used) && !at.After(s.now.Add(24*time.Hour)) {
		u.used = at
	}
}

// unitOf is what an entry of a cache is removed with: single ones of Go's cache of builds, which misses them and builds
// again; everything of another kind, since half a module is worse than none.
func unitOf(name string) (of string, one bool) {
	kind, _, _ := strings.Cut(name, "/")
	if kind == "go-build" {
		return name, true
	}
	return kind, false
}
