package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	verbs = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z%]`)
	// counted is a number with what may be a plural: seconds and the like are units, and verbs are not plurals.
	counted = regexp.MustCompile(`^%[dv] ((?:(?:binary|more|other|such|tool) )?[a-z]+s)\b`)
	// What stands before and after the number of a bound, or of what is over it: that is never one.
	over  = regexp.MustCompile(`(?:more than|at most|longer than) (?:about )?$`)
	above = regexp.MustCompile(`^%d [a-z]+(?:, the limit is|, at most|; a call can have at most| are more than| are too many| is too long| were already replaced|, more than the useful maximum)`)
)

var singular = map[string]bool{"is": true, "was": true, "has": true, "lies": true, "ms": true, "s": true, "as": true,
	"says": true}

// TestNoBarePlurals finds texts that would say "1 rounds": numbers are put before words by spelling.Count.
func TestNoBarePlurals(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"../cmd", "../lib"} {
		files := map[string]*ast.File{}
		constant := map[string]bool{} // by directory and name: the sizes of limits, of which none is one
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
			for _, name := range constants(files[path]) {
				constant[filepath.Dir(path)+"."+name] = true
			}
			return err
		})
		if err != nil || len(files) < 20 {
			t.Fatalf("%d files: %v", len(files), err)
		}
		for path, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				for _, word := range plurals(call,
					func(name string) bool { return constant[filepath.Dir(path)+"."+name] }) {
					t.Errorf("%s: %q is wrong for one: use spelling.Count", path, word)
				}
				return true
			})
		}
	}
}

// plurals are the words of a call's formats that do not fit a number of one.
func plurals(call *ast.CallExpr, constant func(string) bool) (found []string) {
	for i, arg := range call.Args {
		text, ok := literal(arg)
		if !ok {
			continue
		}
		next := i
		for _, at := range verbs.FindAllStringIndex(text, -1) {
			if text[at[0]:at[1]] == "%%" {
				continue
			}
			next++
			word := counted.FindStringSubmatch(text[at[0]:])
			if word == nil || singular[word[1]] || next >= len(call.Args) || over.MatchString(text[:at[0]]) ||
				above.MatchString(text[at[0]:]) {
				continue
			}
			if name, ok := call.Args[next].(*ast.Ident); ok && constant(name.Name) {
				continue
			}
			found = append(found, word[0])
		}
	}
	return found
}

// literal is the text of a string, of one or more parts.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		a, okA := literal(e.X)
		b, okB := literal(e.Y)
		return a + b, okA && okB
	}
	return "", false
}

func constants(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		`f("%d rounds", n)`: true, `f(w, "of %s: "+"%d entries", x, n)`: true, `f("%v calls", n)`: true,
		`f("%d%% of %d turns", a, b)`: true,
		`f("%s", n)`:                  false, `f("receipt %d is not", n)`: false, `f("more than %d bytes", n)`: false,
		`f("%d matches (at most %d)", n, m)`:          true,
		`f("it has %d bytes, the limit is %d", n, m)`: false, `f("%d bytes", max)`: false,
		`f("%d bytes, %d lines", max, n)`: true, `f("%d ms", n)`: false,
	} {
		e, err := parser.ParseExpr(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := plurals(e.(*ast.CallExpr), func(name string) bool { return name == "max" }); len(got) > 0 != want {
			t.Errorf("%s: %q", src, got)
		}
	}
}
