package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is in a read root is read and not changed, and what is hidden in it is not seen: where an engine cannot hide a part, the
// whole root is out of reach.
func TestReadRoot(t *testing.T) {
	eachEngine(t, func(b *box) {
		root, err := filepath.EvalSymlinks(b.t.TempDir())
		if err != nil {
			b.t.Fatal(err)
		}
		os.Mkdir(root+"/hidden", 0o755)
		os.WriteFile(root+"/hidden/key", []byte("the key itself"), 0o644)
		os.WriteFile(root+"/log", []byte("a line of the log"), 0o666)
		b.place.Roots = []string{root}
		script := fmt.Sprintf("cat %[1]s/log; echo x >>%[1]s/log; echo x >%[1]s/new; mv %[1]s/log %[1]s/moved; chmod 777 %[1]s/log; cat %[1]s/hidden/key", root)
		out, _ := b.sh(b.t.Context(), script)
		if !strings.Contains(out, "a line of the log") || !strings.Contains(out, "the key itself") {
			b.t.Errorf("it cannot read: %s", out)
		}
		b.place.Hidden = []string{root + "/hidden"}
		out, _ = b.sh(b.t.Context(), script)
		if strings.Contains(out, "the key itself") || strings.Contains(out, "a line of the log") != (b.e.name() != Landlock) {
			b.t.Errorf("with a part hidden: %s", out)
		}
		if text, err := os.ReadFile(root + "/log"); err != nil || string(text) != "a line of the log" {
			b.t.Errorf("it changed the file: %q %v", text, err)
		}
		if _, err := os.Stat(root + "/new"); err == nil {
			b.t.Error("it made a file")
		}
	})
}

// A directory that has taken the workspace's place is not shown.
func TestReplacedWorkspace(t *testing.T) {
	eachEngine(t, func(b *box) {
		info, err := os.Stat(b.place.Workspace)
		if err != nil {
			b.t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		b.place.ID = fmt.Sprintf("%d:%d", uint64(st.Dev), uint64(st.Ino))
		b.sh(b.t.Context(), "true")
		if err := os.Rename(b.place.Workspace, b.place.Workspace+".old"); err != nil {
			b.t.Fatal(err)
		}
		if err := os.Mkdir(b.place.Workspace, 0o755); err != nil {
			b.t.Fatal(err)
		}
		if _, err := b.e.run(b.t.Context(), b.place, b.limits, Program{Argv: []string{"/bin/true"}, Dir: b.place.Workspace}, Streams{}); err == nil || !strings.Contains(err.Error(), "replaced") {
			b.t.Errorf("it ran in another directory: %v", err)
		}
	})
	// the descriptor is looked at too, when the name is right until it is opened
	dir := t.TempDir()
	if _, err := take([]mount{{Kind: mountWrite, Source: dir, Target: dir, ID: "1:1"}}); err == nil || !strings.Contains(err.Error(), "replaced") && os.Geteuid() == 0 {
		t.Errorf("another directory was taken: %v", err)
	}
}
