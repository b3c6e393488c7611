package policy

import (
	"fmt"
	"os"
	"testing"

	"clawsh/lib/config"
)

// Names that a program finds are judged like those that are written out: links that lead out, and names that are
// several.
func TestFoundNames(t *testing.T) {
	p := policyIn(t, "full", nil) // with links that lead out, one to /etc/passwd
	for script, want := range map[string]int{
		"find . -exec grep root {} +": 3, "find . -exec cat {} ;": 2, "find . -exec cat {} \\;": 3,
		"find sub -exec cat {} +": 3, "find . -name 'p*' -exec cat {} +": 3, "find . -iname PW -exec cat {} +": 3,
		"find sub/deep -exec cat {} +":        1,
		"find . -name '*.txt' -exec cat {} +": 1, "find . -type f -exec cat {} +": 1,
		"find . -type f,l -exec cat {} +": 3, "find . -mtime 1 -exec cat {} +": 2, "find . ! -name x -exec cat {} +": 2,
		"find . -name x -o -name pw -exec cat {} +": 2,
		"find . -maxdepth 1 -exec cat {} +":         2, "find . -exec echo {} +": 1, "find . -type d -exec ls {} +": 1,
		"find . -name 'p*' -type f -exec cat {} +": 1, "find . -exec wc -l {} + -type f": 3,
		"find . | xargs cat": 3, "find . | sort | xargs cat": 2, "find . | head -3 | xargs grep x": 2,
		"find . -name pw | xargs cat": 3, "find . -name '*.txt' | xargs cat": 1, "find . -type f | xargs cat": 1,
		"find . -print0 | xargs -0 cat":         3,
		"find . -type f -print0 | xargs -0 cat": 1, "find . | xargs echo": 1, "git ls-files | xargs cat": 2,
		"git ls-files -z | xargs -0 cat": 2, "grep -rl x . | xargs cat": 1, "d=sub; find $d | xargs cat": 3,
		"cd sub && find . | xargs cat": 3, "find $x | xargs cat": 2,
		"find . | grep pw | xargs cat": 2, "ls | xargs cat": 2, "find . -fprint x | xargs cat": 2,
		"find . -printf '/etc/passwd' | xargs cat": 2,
	} {
		if f := p.script(script, newEffort()); f.rank() != want &&
			!(script == "find . -exec cat {} ;" && f.rank() > 1) {
			t.Errorf("%q: rank %d, want %d (%s)", script, f.rank(), want, f.reason)
		}
	}
}

// Names of files are generated: what splits them makes xargs high, unless NUL ends them.
func TestNamesThatAreSeveral(t *testing.T) {
	for i, name := range []string{"x\n/etc/passwd", "a b", "a\tb", "a'b", `a"b`, `a\b`, "x\n", " x", "-n"} {
		p := policyIn(t, "full", func(c *config.Config) {
			os.RemoveAll(c.WorkspaceDir)
			os.MkdirAll(c.WorkspaceDir+"/sub/x\n", 0o700)
			os.MkdirAll(c.WorkspaceDir+"/"+name, 0o700)
			os.WriteFile(c.WorkspaceDir+"/sub/plain.txt", nil, 0o600)
			os.Remove(c.WorkspaceDir + "/sub/x\n")
		})
		want := 2
		if name == "-n" {
			want = 1 // find writes ./-n
		}
		for script, want := range map[string]int{
			"find . -type f | xargs cat": want, "find . | sort | xargs grep x": want, "grep -rl x . | xargs cat": 2,
			"find . -type f -print0 | xargs -0 cat": 1, "find sub -type f | xargs cat": 1,
			"find . -type f -exec cat {} +": 1, "find . | xargs echo": 1,
		} {
			if f := p.script(script, newEffort()); f.rank() != want {
				t.Errorf("%d %q: %q: rank %d, want %d (%s)", i, name, script, f.rank(), want, f.reason)
			}
		}
	}
	p := policyIn(t, "full", func(c *config.Config) {
		for i := range foundEntries/1000 + 1 {
			dir := fmt.Sprintf("%s/many%d", c.WorkspaceDir, i)
			os.Mkdir(dir, 0o700)
			for k := range 1000 {
				os.Symlink("x", fmt.Sprintf("%s/%d", dir, k))
			}
		}
	})
	if f := p.script("find . -name 'nothing*' -exec cat {} +", newEffort()); f.rank() != 2 {
		t.Errorf("too many names: %+v", f)
	}
}
