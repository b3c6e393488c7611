package need_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"clawsh/test/need"
)

// asked records what a test was told.
type asked struct {
	testing.TB
	skipped, failed bool
}

func (a *asked) Helper()               {}
func (a *asked) Skipf(string, ...any)  { a.skipped = true; runtime.Goexit() }
func (a *asked) Fatalf(string, ...any) { a.failed = true; runtime.Goexit() }

func tell(f func(t testing.TB)) *asked {
	a := &asked{}
	done := make(chan struct{})
	go func() { defer close(done); f(a) }()
	<-done
	return a
}

func TestSkipsAndFails(t *testing.T) {
	for _, c := range []struct {
		require string
		skip    func(t testing.TB)
		fails   bool
	}{
		{"", func(t testing.TB) { need.Skip(t, need.Namespaces, "there are none") }, false},
		{"gawk,sqlite3", func(t testing.TB) { need.Skip(t, need.Namespaces, "there are none") }, false},
		{"gawk,namespaces", func(t testing.TB) { need.Skip(t, need.Namespaces, "there are none") }, true},
		{"gawk, namespaces", func(t testing.TB) { need.Skip(t, need.Namespaces, "there are none") }, true},
		{"", func(t testing.TB) { need.Skip(t, "nosuchthing", "nobody knows it") }, true},
		{"", func(t testing.TB) { t.(*asked).skipped = true; need.Program(t, "go") }, false},
	} {
		t.Setenv(need.Variable, c.require)
		if a := tell(c.skip); a.failed != c.fails || a.skipped == c.fails {
			t.Errorf("%q: skipped %v, failed %v", c.require, a.skipped, a.failed)
		}
	}
	t.Setenv(need.Variable, "sandbox,sandbux")
	if err := need.Check(); err == nil || !strings.Contains(err.Error(), "sandbux") {
		t.Error(err)
	}
}

// TestNobodyElseSkips: a test skips through this package only, so that it can be required not to.
func TestNobodyElseSkips(t *testing.T) {
	skip := regexp.MustCompile(`\b[tbf]\.Skip(f|Now)?\(`)
	line := regexp.MustCompile(`(?m)^(.*)\bskip\b`)
	condition := regexp.MustCompile(`^\[!?([a-z0-9-]+)\] $`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		goFile := strings.HasSuffix(path, ".go") && !strings.Contains(path, "test/need/")
		script := strings.HasSuffix(path, ".txtar")
		if err != nil || !goFile && !script {
			return err
		}
		b, err := os.ReadFile(path)
		if goFile && skip.Match(b) {
			t.Errorf("%s skips by itself: use need.Skip, need.Program or need.Asked", path)
		}
		if commands, _, _ := strings.Cut(string(b), "\n-- "); script {
			for _, m := range line.FindAllStringSubmatch(commands, -1) {
				if c := condition.FindStringSubmatch(m[1]); strings.HasPrefix(m[1], "[") && m[1] != "[!linux] " &&
					(c == nil || !need.Known(c[1])) {
					t.Errorf("%s skips for want of %s, which package need does not know", path, m[1])
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
