package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeFollowsNoSwap exchanges each part of the way to a missing directory for a link between the look and the
// making, and then all the time: nothing is made elsewhere.
func TestMakeFollowsNoSwap(t *testing.T) {
	for _, part := range []string{"a", "a/b", "a/b/c", "a/b/c/d"} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
			t.Fatal(err)
		}
		m, err := LookMissing(dir + "/a/b/c/d")
		if err != nil {
			t.Fatal(err)
		}
		os.Rename(filepath.Join(dir, part), dir+"/old") // if it is there
		os.MkdirAll(filepath.Dir(filepath.Join(dir, part)), 0o755)
		if err := os.Symlink(elsewhere, filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
		if err := m.Make(); !errors.Is(err, errExchanged) {
			t.Errorf("%s is a link: %v", part, err)
		}
		untouched(t, elsewhere)
	}
}

func untouched(t *testing.T, dir string) {
	t.Helper()
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("made elsewhere: %v, %v", names, err)
	}
}

// TestMakeBesideSwapper makes a directory again and again while its parent is exchanged for a link and back.
func TestMakeBesideSwapper(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/a", 0o755), os.Symlink(elsewhere, dir+"/link")); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				os.Rename(dir+"/a", dir+"/away")
				os.Rename(dir+"/link", dir+"/a")
				os.Rename(dir+"/a", dir+"/link")
				os.Rename(dir+"/away", dir+"/a")
			}
		}
	}()
	made := 0
	for range 300 {
		m, err := LookMissing(dir + "/a/x/y")
		// looked at while it led elsewhere: that is what was seen, then
		if err != nil || !strings.HasPrefix(m.base, dir) {
			continue
		}
		if m.Make() == nil {
			made++
		}
		os.RemoveAll(dir + "/away/x")
		os.RemoveAll(dir + "/a/x")
		untouched(t, elsewhere)
		if t.Failed() {
			break
		}
	}
	close(stop)
	<-done
	if made == 0 {
		t.Error("none was made: nothing was proven")
	}
}

func TestMakeMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("nowhere", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := LookMissing(dir + "/link/x"); err == nil {
		t.Error("a link to nowhere is a way")
	}
	m, err := LookMissing(dir + "/x/y")
	if err == nil {
		err = m.Make()
	}
	if info, statErr := os.Stat(dir + "/x/y"); err != nil || statErr != nil || info.Mode().Perm()&0o022 != 0 {
		t.Error(err, statErr)
	}
}
