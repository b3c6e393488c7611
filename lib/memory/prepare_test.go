package memory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// three are the files of a memory, nil where there is none.
func three(path string) []fs.FileInfo {
	var out []fs.FileInfo
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			info = nil
		}
		out = append(out, info)
	}
	return out
}

func same(a, b []fs.FileInfo) bool {
	return slices.EqualFunc(a, b, func(a, b fs.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) })
}

// TestPreparedFilesStay: a process that may touch the prepared files and make or remove none gets along with them, from
// any state of the memory before.
func TestPreparedFilesStay(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, path string){
		"missing": func(*testing.T, string) {},
		"blank":   func(t *testing.T, path string) { os.WriteFile(path, nil, 0o600) },
		"closed": func(t *testing.T, path string) {
			s := openAtPath(t, path)
			say(t, s, "0", "c", "before")
			s.Close()
		},
		"without a log": func(t *testing.T, path string) { // as sqlite3 .clone or VACUUM INTO leave it
			openAtPath(t, path).Close()
			c, err := sqlite3.Open(path)
			if err == nil {
				err = errors.Join(c.Exec(`PRAGMA journal_mode=DELETE`), c.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.sqlite")
			before(t, path)
			files := Prepare(path, Options{})
			if !slices.Equal(files, []string{path, path + "-wal", path + "-shm"}) {
				t.Fatalf("prepared %v", files)
			}
			prepared := three(path)
			for _, id := range []string{"1", "2"} {
				s, err := Open(path, Options{Kept: true})
				if err != nil {
					t.Fatal(err)
				}
				say(t, s, id, "c", "hello "+id)
				if id == "2" {
					if _, err := s.Clear(); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				r, err := Open(path, Options{ReadOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				r.Close()
				after := three(path)
				if !same(prepared, after) {
					t.Fatalf("files were made or removed: %v, then %v", prepared, after)
				}
				if n := after[1].Size(); n != 0 {
					t.Errorf("the log of a closed memory has %d bytes", n)
				}
			}
		})
	}
}

// TestPreparedTogether: processes that start at once on a new memory agree on its files.
func TestPreparedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sqlite")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			Prepare(path, Options{})
			prepared := three(path)
			s, err := Open(path, Options{Kept: true})
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			s.Close()
			if after := three(path); !same(prepared, after) {
				t.Errorf("%d: files were made or removed: %v, then %v", i, prepared, after)
			}
		})
	}
	all.Wait()
}

// TestPrepareToRead makes no memory where there is none, and none of the files of what is no memory.
func TestPrepareToRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sqlite")
	if files := Prepare(path, Options{ReadOnly: true}); files != nil {
		t.Errorf("prepared %v", files)
	}
	if got := three(path); got[0] != nil || got[1] != nil || got[2] != nil {
		t.Errorf("files: %v", got)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if files := Prepare(link, Options{}); files != nil {
		t.Errorf("a link was prepared: %v", files)
	}
}
