package durable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/test/need"
)

// TestRemoveOfHostileTrees: whatever a program has left goes, and nothing that it links to.
func TestRemoveOfHostileTrees(t *testing.T) {
	for name, lay := range map[string]string{"plain": "", "file": "file", "link": "link", "full": "full"} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			must(err)
			defer root.Close()
			must(os.WriteFile(outside+"/precious", nil, 0o600))
			must(os.MkdirAll(dir+"/locked/in", 0o700))
			must(os.WriteFile(dir+"/locked/in/line\nbreak", nil, 0o600))
			must(os.Symlink(outside, dir+"/locked/out"))
			must(os.Chmod(dir+"/locked/in", 0))
			must(os.Chmod(dir+"/locked", 0o500))
			must(os.MkdirAll(dir+"/deep", 0o700))
			for range need.Rounds(22, 60) { // deeper than names can be long
				below := "new" + strings.Repeat("/d", 100)
				must(root.MkdirAll(below, 0o700))
				must(root.Rename("deep", below+"/d"))
				must(root.Rename("new", "deep"))
			}
			switch lay {
			case "file":
				must(os.WriteFile(filepath.Join(dir, Trash), nil, 0o600))
			case "link":
				must(os.Symlink(outside, filepath.Join(dir, Trash)))
			case "full":
				must(os.MkdirAll(filepath.Join(dir, Trash, "a/b"), 0o700))
				must(os.Chmod(filepath.Join(dir, Trash), 0))
			}
			if !Remove(root, "deep") || Remove(root, "deep/er") != true {
				t.Error("the deep one is left")
			}
			Remove(root, ".")
			if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
				t.Errorf("left: %v %v", left, err)
			}
			if _, err := os.Stat(outside + "/precious"); err != nil {
				t.Error("what a link leads to is gone")
			}
		})
	}
}
