package test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/docs/manual"
	"clawsh/test/need"
)

// TestPagesAreMade: what is made from tables, pages of docs/ and clawsh's commands of stages, is what make docs writes
// now.
func TestPagesAreMade(t *testing.T) {
	t.Parallel()
	programs, err := manual.Programs(bin)
	if err != nil {
		t.Fatal(err)
	}
	stages, err := manual.Stages(bin)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := manual.Offers(stages); err != nil || read(t, "../"+manual.OffersFile) != want {
		t.Errorf("%s is not what is made: run make docs (%v)", manual.OffersFile, err)
	}
	for name, want := range manual.Docs(programs) {
		got, err := os.ReadFile("../docs/" + name)
		if err != nil || string(got) != want {
			t.Errorf("docs/%s is not what is made: run make docs (%v)", name, err)
		}
	}
}

// share makes what belongs below PREFIX/share.
func share(t *testing.T, date string) string {
	t.Helper()
	dir := t.TempDir()
	programs, err := manual.Programs(bin)
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := os.ReadFile("../docs/SCHEMAS.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := manual.WriteShare(dir, bin, string(schemas), programs,
		manual.Build{Version: "1.2.3", Date: date}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// listed are the files and directories below one, with what files hold.
func listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[strings.TrimPrefix(path, dir)] = "directory"
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			all[strings.TrimPrefix(path, dir)] = "link"
			return nil
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestManPages: there is one for each program and each format, mandoc finds nothing wrong with them, and they can be
// reproduced.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := share(t, "2026-05-12")
	if !maps.Equal(listed(t, dir), listed(t, share(t, "2026-05-12"))) {
		t.Error("made twice, they differ")
	}
	pages, _ := filepath.Glob(dir + "/man/man?/*")
	if len(pages) != len(binaries(t))+4 {
		t.Errorf("%d pages: %v", len(pages), pages)
	}
	need.Program(t, "mandoc")
	for _, p := range pages {
		if out, err := exec.Command("mandoc", "-Tlint", "-Wstyle", p).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
		text, err := exec.Command("mandoc", "-Tascii", "-Owidth=100", p).Output()
		for _, want := range []string{"NAME", "DESCRIPTION", "SEE ALSO", "2026-05-12", "clawsh 1.2.3"} {
			if !strings.Contains(plainText(string(text)), want) {
				t.Errorf("%s shows no %s (%v)", p, want, err)
			}
		}
	}
	checkPageOfCommands(t, dir)
}

// plainText takes out the backspaces by which mandoc marks bold and underlined letters.
func plainText(s string) string {
	var out []rune
	for _, r := range s {
		if r == '\b' && len(out) > 0 {
			out = out[:len(out)-1]
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// checkPageOfCommands: every command and every flag that the help has is in the page of its program.
func checkPageOfCommands(t *testing.T, dir string) {
	programs, err := manual.Programs(bin)
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, p := range programs {
		b, err := exec.Command("mandoc", "-Tascii", "-Owidth=400", dir+"/man/man1/"+p.App+".1").Output()
		if err != nil {
			t.Fatal(err)
		}
		text := plainText(string(b))
		for _, c := range p.Commands {
			want := []string{c.Usage, c.Summary[1:]}
			for _, f := range c.Flags {
				flags++
				want = append(want, strings.TrimSpace("--"+f.Name+" "+f.Value), f.Usage)
			}
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s(1) has no %q", p.App, w)
				}
			}
		}
	}
	if flags < 100 {
		t.Errorf("only %d flags", flags)
	}
}

func installer(t *testing.T, fail bool, args ...string) string {
	t.Helper()
	out, err := exec.Command("../install.sh", args...).CombinedOutput()
	if (err != nil) != fail {
		t.Fatalf("install.sh %v: %v: %s", args, err, out)
	}
	return string(out)
}

// TestUninstallRemovesWhatInstallPutThere: what was there before is there afterwards, and nothing else; a version that
// has a file no more takes it away.
func TestUninstallRemovesWhatInstallPutThere(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "a prefix", "usr")
	for _, d := range []string{"share/man/man1", "bin"} {
		if err := os.MkdirAll(filepath.Join(prefix, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"bin/other", "share/man/man1/other.1"} {
		if err := os.WriteFile(filepath.Join(prefix, f), []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := listed(t, prefix)
	first := share(t, "2026-05-12")
	if err := os.WriteFile(first+"/man/man1/claw-old.1", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(first+"/doc/a directory", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first+"/doc/a directory/a  file ", []byte("blanks"), 0o644); err != nil {
		t.Fatal(err)
	}
	installer(t, false, "install", prefix, bin, first)
	if listed(t, prefix)["/share/doc/a directory/a  file "] == "" {
		t.Error("a file with blanks in its name was not installed")
	}
	installer(t, false, "install", prefix, bin, share(t, "2026-05-13"))
	now := listed(t, prefix)
	for _, want := range []string{"/bin/clawsh", "/bin/claw-loop", "/share/man/man1/clawsh.1",
		"/share/man/man5/clawsh-config.5",
		"/share/bash-completion/completions/clawsh", "/share/zsh/site-functions/_clawsh",
		"/share/fish/vendor_completions.d/clawsh.fish"} {
		if now[want] == "" {
			t.Errorf("no %s is installed", want)
		}
	}
	if now["/share/man/man1/claw-old.1"] != "" || now["/share/doc/a directory/a  file "] != "" {
		t.Error("a file of the version before is left")
	}
	installer(t, false, "uninstall", prefix)
	after := listed(t, prefix)
	if !maps.Equal(before, after) {
		t.Errorf("before %v\nafter %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	if out := installer(t, true, "uninstall", prefix); !strings.Contains(out, "has not installed clawsh there") {
		t.Error(out)
	}
}

// TestUninstallStaysBelow: a list that names what is elsewhere, or what a link leads to, is refused, and nothing is
// removed.
func TestUninstallStaysBelow(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"f ../precious\n", "f share/../../precious\n", "f TOP/precious\n",
		"f /TOP/precious\n", "d ../usr/..\n",
		"f ../precious", "f bin/clawsh\nf ../precious\n", "f out/precious\n", "f ./out/precious\n",
		"f share/out/precious\n",
		"f share/a b/precious\n", "f out/deep/precious\n", "d out/deep\n", "f out//precious\n", "../precious\n",
		"x out\n", "\n"} {
		for _, args := range [][]string{{"uninstall", "PREFIX"}, {"install", "PREFIX", bin, "SHARE"}} {
			top := t.TempDir()
			prefix := top + "/usr"
			for _, d := range []string{top + "/deep", top + "/share", prefix + "/share/clawsh"} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range []string{"/precious", "/deep/precious", "/share/file"} {
				if err := os.WriteFile(top+f, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, link := range []string{"/out", "/share/out", "/share/a b"} {
				if err := os.Symlink(top, prefix+link); err != nil {
					t.Fatal(err)
				}
			}
			text := strings.ReplaceAll(list, "TOP", top)
			if err := os.WriteFile(prefix+"/share/clawsh/installed", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			before := listed(t, top)
			command := strings.NewReplacer("PREFIX", prefix, "SHARE", top+"/share").Replace(strings.Join(args, "\n"))
			out, err := exec.Command("../install.sh", strings.Split(command, "\n")...).CombinedOutput()
			if err == nil || strings.Count(string(out), "\n") != 1 ||
				!strings.Contains(string(out), "nothing was changed") {
				t.Errorf("%s %q: %v: %s", args[0], list, err, out)
			}
			if !maps.Equal(before, listed(t, top)) {
				t.Errorf("%s %q: something was changed", args[0], list)
			}
		}
	}
}

// TestInstallListIsNoLink: a list that a link leads to is another's.
func TestInstallListIsNoLink(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"share", "share/clawsh", "share/clawsh/installed"} {
		top := t.TempDir()
		prefix, elsewhere := top+"/usr", top+"/elsewhere"
		installer(t, false, "install", prefix, bin, share(t, "2026-05-12"))
		if err := os.Rename(filepath.Join(prefix, link), elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(prefix, link)); err != nil {
			t.Fatal(err)
		}
		if out := installer(t, true, "uninstall", prefix); !strings.Contains(out, link+" below "+prefix+" is a link") {
			t.Error(out)
		}
	}
}

// TestInstallGoesBelowDESTDIR: what make install and make uninstall run names PREFIX below DESTDIR.
func TestInstallGoesBelowDESTDIR(t *testing.T) {
	t.Parallel()
	need.Program(t, "make")
	for _, target := range []string{"install", "uninstall"} {
		out, err := exec.Command("make", "-n", "-C", "..", target, "DESTDIR=/tmp/stage", "PREFIX=/usr").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "./install.sh "+target+` "/tmp/stage/usr"`) {
			t.Errorf("%v: %s", err, out)
		}
	}
}
