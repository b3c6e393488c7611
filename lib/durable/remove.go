package durable

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Trash is a directory in which Remove dismantles what it removes.
const Trash = ".swept"

const inBatches = 1000

// OpenDir opens a directory, even one whose owner has removed the permissions.
func OpenDir(root *os.Root, at string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NOFOLLOW
	d, err := root.OpenFile(at, flags, 0)
	if os.IsPermission(err) && root.Chmod(at, 0o700) == nil {
		d, err = root.OpenFile(at, flags, 0)
	}
	return d, err
}

// Remove removes a file, or a directory with everything in it, and reports whether it is gone; for the root itself,
// named ".", it removes the contents. It is made for what hostile programs leave: it follows no links, and first
// moves nested directories up beside each other, so that the time depends on the number of entries and not on their
// depth.
func Remove(root *os.Root, name string) bool {
	if root.Remove(name) == nil {
		return true
	}
	if _, err := root.Lstat(name); err != nil {
		return os.IsNotExist(err)
	}
	if info, err := root.Lstat(Trash); err == nil && !info.IsDir() {
		_ = root.Remove(Trash)
	}
	if err := root.Mkdir(Trash, 0o700); err != nil && !os.IsExist(err) {
		return false
	}
	_ = root.Chmod(Trash, 0o700)
	t := heap{root: root, mark: strconv.FormatInt(time.Now().UnixNano(), 36) + "-"}
	t.empty(Trash)
	if name == "." {
		t.empty(name)
	} else if name != Trash {
		t.take(name)
	}
	for i := 0; i < t.taken; i++ {
		t.empty(t.name(i))
		_ = root.Remove(t.name(i))
	}
	_ = root.Remove(Trash)
	_, err := root.Lstat(name)
	return os.IsNotExist(err)
}

// heap is where directories are dismantled.
type heap struct {
	root  *os.Root
	mark  string // what names begin with there
	taken int
}

func (t *heap) name(i int) string { return Trash + "/" + t.mark + strconv.Itoa(i) }

// take moves a directory onto the heap. Moving a directory needs the right to write to it.
func (t *heap) take(name string) {
	_ = t.root.Chmod(name, 0o700)
	if t.root.Rename(name, t.name(t.taken)) == nil {
		t.taken++
	}
}

// empty removes the files in a directory, and moves its directories onto the heap.
func (t *heap) empty(dir string) {
	d, err := OpenDir(t.root, dir)
	if err != nil {
		return
	}
	defer d.Close()
	_ = t.root.Chmod(dir, 0o700)
	for {
		entries, err := d.ReadDir(inBatches)
		for _, e := range entries {
			t.one(dir, e)
		}
		if err != nil {
			return
		}
	}
}

func (t *heap) one(dir string, e fs.DirEntry) {
	name := path.Join(dir, e.Name())
	switch {
	case name == Trash, dir == Trash && strings.HasPrefix(e.Name(), t.mark):
	case e.IsDir():
		t.take(name)
	default:
		_ = t.root.Remove(name)
	}
}
