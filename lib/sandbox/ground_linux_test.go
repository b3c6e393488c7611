package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/lib/obeyed"
)

// protectedPlaces are made before a program runs: with the file that must stay as it is, and be where it was.
var protectedPlaces = []string{".git/config", "sub/.git/config", "a/b/c/d/e/f/.git/hooks/pre-commit",
	"a/b/g/.git/config", "bare/config", "x/y/bare.git/hooks/post-checkout",
	".npmrc", ".vscode/tasks.json", ".yarn/plugins/p.cjs", ".husky/pre-commit"}

func makeGround(t *testing.T, w string) {
	for _, name := range append([]string{"bare/HEAD", "bare/objects/x", "bare/refs/x", "x/y/bare.git/HEAD",
		"x/y/bare.git/commondir", "evil/config", "evil/hooks/pre-commit",
		"evil/tasks.json", "evil/p.cjs", "other/x"}, protectedPlaces...) {
		path := filepath.Join(w, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		text := "good"
		if strings.HasPrefix(name, "evil") {
			text = "evil"
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// displacing are ways to put something else in a place: PLACE is the protected file, DIR the directory that is moved,
// the part of the way below it is REST.
var displacing = []string{
	"mv DIR old; mkdir -p DIR/REST; rmdir DIR/REST; cp evil/config PLACE",
	"mv DIR old; ln -s ../evil DIR", "mv DIR other/; cp -r evil DIR",
	"rm -rf DIR; mkdir -p DIR; cp -r evil/. DIR; cp evil/config PLACE",
	"cp evil/config PLACE", "echo evil >PLACE", "echo evil >>PLACE", "ln -f evil/config PLACE",
	"ln -sf evil/config PLACE", "mv -f evil/config PLACE", "rm -f PLACE; echo evil >PLACE",
	"chmod 777 PLACE; echo evil >PLACE", "mkdir n; echo evil >n/x; mv -T n DIR", "mv -T DIR n; mv -T evil DIR",
	"truncate -s 0 PLACE", "sed -i s/good/evil/ PLACE",
}

// TestGround: nothing on the way to what other programs obey can be renamed, replaced or covered. It makes every way of
// displacing for every directory on the way to every place.
func TestGround(t *testing.T) {
	eachEngine(t, func(b *box) {
		if b.e.name() == Landlock {
			if r := b.e.report().lacks(All); !slices.Contains(r.Missing, Files) {
				t.Error("landlock protects nothing in the workspace, and does not say so")
			}
			return
		}
		w := b.place.Workspace
		var script strings.Builder
		for _, place := range protectedPlaces {
			for dir := filepath.Dir(place); ; dir = filepath.Dir(dir) {
				if dir == "." {
					dir = place
				}
				rest, _ := filepath.Rel(dir, place)
				for _, d := range displacing {
					script.WriteString(strings.NewReplacer("PLACE", place, "DIR", dir, "REST", rest).Replace(d) + "\n")
				}
				if dir == place {
					break
				}
			}
		}
		makeGround(t, w)
		b.sh(b.t.Context(), "exec 2>/dev/null; mkdir keep; cp -r evil keep\n"+
			strings.ReplaceAll(script.String(), "\n", "; [ -d evil ] || cp -r keep/evil evil\n"))
		for _, place := range protectedPlaces {
			if text, err := os.ReadFile(filepath.Join(w, place)); string(text) != "good" {
				b.t.Errorf("%s: %q, %v", place, text, err)
			}
		}
	})
}

// TestMissingGround: what is missing cannot be made, is not left behind, and may be made where the call was permitted
// to.
func TestMissingGround(t *testing.T) {
	eachEngine(t, func(b *box) {
		if b.e.name() == Landlock {
			return
		}
		w := b.place.Workspace
		var script strings.Builder
		for _, name := range obeyed.Covered() {
			for _, try := range []string{"mkdir N", "echo evil >N", "mkdir -p N/x", "echo evil >N/config", "mv evil N",
				"mv -T evil N", "ln -s evil N", "rmdir N; mkdir N", "mv N n; mkdir N", "cp -r evil N"} {
				script.WriteString(strings.ReplaceAll(try, "N", name) + "\n")
			}
		}
		os.MkdirAll(w+"/evil", 0o755)
		os.WriteFile(w+"/evil/config", []byte("evil"), 0o644)
		b.sh(b.t.Context(), "exec 2>/dev/null\n"+script.String()+"true")
		for _, name := range obeyed.Covered() {
			if _, err := os.Lstat(filepath.Join(w, name)); err == nil {
				b.t.Errorf("%s is there", name)
			}
		}
		b.place.Obeyed = []string{".git/x"}
		b.sh(b.t.Context(), "mkdir .git && echo x >.git/x; mkdir HEAD/x")
		if _, err := os.Lstat(w + "/.git/x"); err != nil {
			b.t.Error(err)
		}
		if _, err := os.Lstat(w + "/HEAD"); err == nil {
			b.t.Error("HEAD is there")
		}
	})
}

// TestSideBySide: sandboxes that run at the same time cover for each other, and the last one cleans up.
func TestSideBySide(t *testing.T) {
	eachEngine(t, func(b *box) {
		if b.e.name() == Landlock {
			return
		}
		w := b.place.Workspace
		os.Mkdir(w+"/HEAD", placeholderMode.Perm()) // a killed process has left it
		os.Chmod(w+"/HEAD", placeholderMode.Perm()|fs.ModeSticky)
		ended := make(chan string)
		for range 6 {
			go func() {
				out, _ := b.sh(b.t.Context(),
					"for i in 1 2 3 4 5 6 7 8 9; do sleep 0.02; mkdir .git/x && echo made; mkdir HEAD && echo made; rmdir .git && echo gone; done 2>/dev/null")
				ended <- out
			}()
			time.Sleep(40 * time.Millisecond) // they begin and end at different times
		}
		for range 6 {
			if out := <-ended; out != "" {
				b.t.Errorf("a cover was gone: %q", out)
			}
		}
		if left, _ := os.ReadDir(w); len(left) > 0 {
			b.t.Errorf("left behind: %v", left)
		}
	})
}

// TestGitWrite: a repository that may be written still runs nothing new.
func TestGitWriteGround(t *testing.T) {
	eachEngine(t, func(b *box) {
		if b.e.name() == Landlock {
			return
		}
		w := b.place.Workspace
		b.place.GitWrite = true
		os.MkdirAll(w+"/.git/objects", 0o755)
		os.MkdirAll(w+"/.git/refs", 0o755)
		os.WriteFile(w+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644)
		os.WriteFile(w+"/.git/config", []byte("good"), 0o644)
		b.sh(b.t.Context(),
			"echo x >.git/objects/x; mkdir .git/hooks; echo evil >.git/hooks/pre-commit; mv .git g; echo evil >.git/config; mv .git/config .git/c")
		if _, err := os.Stat(w + "/.git/objects/x"); err != nil {
			b.t.Error(err)
		}
		if text, _ := os.ReadFile(w + "/.git/config"); string(text) != "good" {
			b.t.Errorf("config: %q", text)
		}
		if _, err := os.Stat(w + "/.git/hooks"); err == nil {
			b.t.Error("hooks are there")
		}
	})
}

// TestRepositoriesBreadthFirst: many names in one directory do not keep what lies beside it from being found.
func TestRepositoriesBreadthFirst(t *testing.T) {
	w := t.TempDir()
	for _, name := range []string{"aaa", "zzz/sub/.git", "deep/1/2/3/4/5/6/7/8/.git"} {
		os.MkdirAll(filepath.Join(w, name), 0o755)
	}
	for i := range 5000 {
		os.WriteFile(filepath.Join(w, "aaa", "f"+time.Duration(i).String()), nil, 0o644)
	}
	found := repositories(w)
	if len(found) != 2 || !strings.HasSuffix(found[0], "zzz/sub/.git") {
		t.Errorf("found %v", found)
	}
}
