package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMirrorsFollowNoLink: where a link stands in the place of the directory of mirrors, nothing is written where it
// leads.
func TestMirrorsFollowNoLink(t *testing.T) {
	s := openTemp(t)
	elsewhere := t.TempDir()
	m := &Mirror{Dir: filepath.Join(t.TempDir(), "agents"), Store: s}
	if err := os.Symlink(elsewhere, m.Dir); err != nil {
		t.Fatal(err)
	}
	say(t, s, "1", "conv-1", "hello")
	_, entries, err := s.Show("conv-1")
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"put":     func() error { return m.Put(&entries[0], "default") },
		"rewrite": func() error { return m.Rewrite("default", "conv-1", entries) },
		"point":   func() error { return m.Point("default", "conv-1") },
		"remove":  func() error { return m.Remove("conv-1") },
	} {
		if err := do(); err == nil {
			t.Errorf("%s: done through a link", name)
		}
	}
	if names, err := os.ReadDir(elsewhere); err != nil || len(names) > 0 {
		t.Errorf("written elsewhere: %v, %v", names, err)
	}
}
