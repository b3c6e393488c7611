package obeyed

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// TestRows: the table is what it says: every row names a program and why it obeys, every pattern can match, and
// none stands twice.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if r.Program == "" || r.Why == "" || len(r.Names) == 0 {
			t.Errorf("%v: who obeys, and why?", r)
		}
		for _, name := range r.Names {
			if _, err := path.Match(name, "x"); err != nil || seen[name] || !r.Exact && name != strings.ToLower(name) {
				t.Errorf("%q: %v, twice, or not in lower case", name, err)
			}
			seen[name] = true
			if r.Cover && strings.ContainsAny(name, "*/") {
				t.Errorf("%q cannot be covered", name)
			}
		}
	}
	for _, name := range Covered() {
		if _, ok := Match(name); !ok {
			t.Errorf("%s is covered and in no row", name)
		}
	}
	if slices.Contains(Covered(), ".hg") {
		t.Error("go refuses to build where it sees an empty .git and an empty .hg")
	}
}

// FuzzMatch: what a name falls under, it falls under in every directory and in every case, and so does what lies
// below it.
func FuzzMatch(f *testing.F) {
	for _, r := range Rows() {
		for _, name := range r.Names {
			f.Add("a/b", strings.ReplaceAll(name, "*", "x"), "c")
		}
	}
	f.Fuzz(func(t *testing.T, above, name, below string) {
		row, ok := Match(name)
		if _, under := Match(path.Dir(name)); ok && !under && !Ends(path.Base(path.Clean(name))) {
			t.Errorf("%q, but nothing ends like it", name)
		}
		if !ok || strings.Contains(above+below, "..") || strings.HasPrefix(name, "..") || path.Clean(name) != name ||
			path.IsAbs(name) {
			return
		}
		if _, ok := Match(above + "/" + name); !ok {
			t.Errorf("%q, but not below %q", name, above)
		}
		if row.Exact {
			return
		}
		if _, ok := Match(above + "/" + strings.ToUpper(name) + "/" + below); !ok &&
			strings.EqualFold(strings.ToUpper(name), name) {
			t.Errorf("%q, but not in capitals, or not %q below it", name, below)
		}
		if _, ok := Brings(name); !ok {
			t.Errorf("%q does not bring what it is", name)
		}
	})
}
