package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/place"
)

// What is in a read root is read and not changed, and what is hidden in it is not seen: where an engine cannot hide a
// part, the whole root is out of reach.
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
		if strings.Contains(out, "the key itself") ||
			strings.Contains(out, "a line of the log") != (b.e.name() != Landlock) {
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

// A directory that has taken the place of the workspace or of the private home is not shown, nor where a link leads
// that has.
func TestReplacedDirectories(t *testing.T) {
	for _, what := range []string{"workspace", "home"} {
		for _, by := range []string{"another", "a link"} {
			t.Run(what+" by "+by, func(t *testing.T) {
				eachEngine(t, func(b *box) { b.replace(what, by) })
			})
		}
	}
	// the descriptor is looked at too, when the name is right until it is opened
	dir := t.TempDir()
	if _, err := take([]mount{{Kind: mountWrite, Source: dir, Target: dir, ID: "1:1"}}); err == nil ||
		!strings.Contains(err.Error(), "replaced") && os.Geteuid() == 0 {
		t.Errorf("another directory was taken: %v", err)
	}
}

func (b *box) replace(what, by string) {
	dir, id := b.place.Workspace, &b.place.ID
	if what == "home" {
		b.place.Home = b.t.TempDir()
		dir, id = b.place.Home, &b.place.HomeID
	}
	info, err := os.Stat(dir)
	if err == nil {
		*id = place.Identity(info)
		b.sh(b.t.Context(), "true")
		err = os.Rename(dir, dir+".old")
	}
	if err == nil && by == "a link" {
		err = os.Symlink(b.t.TempDir(), dir)
	} else if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	p := Program{Argv: []string{"/bin/true"}, Dir: b.place.Workspace}
	if _, err := b.e.run(b.t.Context(), b.place, b.limits, p, Streams{}); err == nil ||
		!strings.Contains(err.Error(), "replaced") {
		b.t.Errorf("it ran with another %s: %v", what, err)
	}
}
