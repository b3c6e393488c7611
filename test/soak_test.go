package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSoakRunsAllRounds: each test that runs a few rounds by default is among those of which make soak, and thereby
// continuous integration, runs all.
func TestSoakRunsAllRounds(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^SOAKED +:= (.*)$`).FindSubmatch(makefile)
	packages := regexp.MustCompile(`(?m)-run '\$\(SOAKED\)'[^.]* (\./.*)$`).FindSubmatch(makefile)
	if names == nil || packages == nil {
		t.Fatal("the Makefile does not say which tests make soak runs")
	}
	soaked, found := regexp.MustCompile(string(names[1])), 0
	for _, f := range shortened(t) {
		found++
		if !strings.HasPrefix(f.name, "Test") {
			t.Errorf("%s: %s is not a test: ask for rounds in the test itself, whose name make soak knows", f.file,
				f.name)
		} else if dir := "./" + filepath.Dir(f.file); !soaked.MatchString(f.name) ||
			!strings.Contains(string(packages[1])+" ", dir+" ") {
			t.Errorf("make soak does not run %s of %s", f.name, dir)
		}
	}
	if found < 10 {
		t.Errorf("only %d such tests were found", found)
	}
}

type shortenedTest struct{ file, name string }

// shortened finds the functions that ask how many rounds to run.
func shortened(t *testing.T) (found []shortenedTest) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/need/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && asksForRounds(f) {
				found = append(found, shortenedTest{strings.TrimPrefix(path, "../"), f.Name.Name})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func asksForRounds(f *ast.FuncDecl) (asks bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, isName := s.X.(*ast.Ident)
			asks = asks || isName && x.Name == "need" &&
				slices.Contains([]string{"Rounds", "Soak", "OneIn"}, s.Sel.Name)
		}
		return true
	})
	return asks
}
