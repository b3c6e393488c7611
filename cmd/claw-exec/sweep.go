package main

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxCacheDepth   = 64      // of directories in a cache: builders make fewer
	maxCacheEntries = 500_000 // of one workspace
	entryBytes      = 512     // what a name costs, be there nothing in the file
	inBatches       = 1000
	trashName       = ".swept" // where what is removed is taken apart
)

// unit is what is removed as a whole.
type unit struct {
	cache *os.Root // of its workspace
	path  string   // there
	bytes int64
	used  time.Time
	one   bool // a file, or a directory that is empty
}

// sweep removes units, the oldest first. Programs may have put links, odd names and endless directories there, and may be changing
// all of it: each cache has a root of its own, so that no link leads out of it or into that of another workspace.
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
		trash(cache, trashName) // what a sweep before has left
		units, bytes := measure(cache, now)
		all, total = append(all, units...), total+bytes
	}
	slices.SortFunc(all, func(a, b *unit) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.path, b.path)) })
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
	return trash(u.cache, u.path)
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
		trash(cache, ".")
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
	d, err := opened(s.cache, at)
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

// count counts what an entry takes of the disk, which is not what it says its length is. What says that it is of the future is the
// oldest: it shall not outlive the caches of others.
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
	if base, ok := strings.CutPrefix(name, "go-build/"); ok && len(base) == 2 && strings.Trim(base, "0123456789abcdef") == "" {
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

// unitOf is what an entry of a cache is removed with: single ones of Go's cache of builds, which misses them and builds again;
// everything of another kind, since half a module is worse than none.
func unitOf(name string) (of string, one bool) {
	kind, _, _ := strings.Cut(name, "/")
	if kind == "go-build" {
		return name, true
	}
	return kind, false
}

// opened opens a directory, that of a program which has taken the right to it away, too.
func opened(cache *os.Root, at string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NOFOLLOW
	d, err := cache.OpenFile(at, flags, 0)
	if os.IsPermission(err) && cache.Chmod(at, 0o700) == nil {
		d, err = cache.OpenFile(at, flags, 0)
	}
	return d, err
}

// trash removes a file, or a directory with all that is in it, and tells whether it is gone. Directories are moved up beside each
// other first, so that it takes as long as there are entries, however deep they lie.
func trash(cache *os.Root, name string) bool {
	if cache.Remove(name) == nil {
		return true
	}
	if _, err := cache.Lstat(name); err != nil {
		return os.IsNotExist(err)
	}
	if err := cache.Mkdir(trashName, 0o700); err != nil && !os.IsExist(err) {
		return false
	}
	_ = cache.Chmod(trashName, 0o700)
	t := heap{cache: cache, mark: strconv.FormatInt(time.Now().UnixNano(), 36) + "-"}
	if name == "." || name == trashName {
		t.empty(name)
	} else {
		t.take(name)
	}
	for i := 0; i < t.taken; i++ {
		t.empty(t.name(i))
		_ = cache.Remove(t.name(i))
	}
	_ = cache.Remove(trashName)
	_, err := cache.Lstat(name)
	return os.IsNotExist(err)
}

// heap is where directories are taken apart.
type heap struct {
	cache *os.Root
	mark  string // what names begin with there
	taken int
}

func (t *heap) name(i int) string { return trashName + "/" + t.mark + strconv.Itoa(i) }

// take moves a directory onto the heap. Only who may write to a directory may move it.
func (t *heap) take(name string) {
	_ = t.cache.Chmod(name, 0o700)
	if t.cache.Rename(name, t.name(t.taken)) == nil {
		t.taken++
	}
}

// empty removes what is in a directory, and moves the directories there onto the heap.
func (t *heap) empty(dir string) {
	d, err := opened(t.cache, dir)
	if err != nil {
		return
	}
	defer d.Close()
	_ = t.cache.Chmod(dir, 0o700)
	for {
		entries, err := d.ReadDir(inBatches)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case name == trashName, dir == trashName && strings.HasPrefix(e.Name(), t.mark):
			case e.IsDir():
				t.take(name)
			default:
				_ = t.cache.Remove(name)
			}
		}
		if err != nil {
			return
		}
	}
}
