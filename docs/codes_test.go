package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// named are the names of one sort that the programs say, codes of errors or rules, found where they are given:
// to functions by a parameter, to fields of a struct, by a method.
type named struct {
	param  string            // what the functions call it
	fields []string          // in which records have it
	method string            // that returns it
	prefix map[string]string // of those of a directory
	dirs   []string
	inner  []string // that nobody outside sees

	consts map[string]string // by directory and name
	at     map[string]int    // which argument of a function, by directory and name, or by package and name
	found  map[string]string // where
	words  map[string]bool   // all texts
}

// in returns what is found in the sources.
func (n *named) in(t *testing.T) map[string]string {
	t.Helper()
	n.consts, n.at, n.found = map[string]string{}, map[string]int{}, map[string]string{}
	n.words = map[string]bool{}
	files := map[string]*ast.File{}
	set := token.NewFileSet()
	for _, dir := range n.dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files[path], err = parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, f := range files {
		n.declared(filepath.Dir(path), f)
	}
	for path, f := range files {
		ast.Inspect(f, func(node ast.Node) bool { n.look(filepath.Dir(path), node); return true })
	}
	return n.found
}

// declared notes the constants of a file, and the functions that are given a name.
func (n *named) declared(dir string, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			i := 0
			for _, p := range d.Type.Params.List {
				for _, name := range p.Names {
					if typ, ok := p.Type.(*ast.Ident); ok && name.Name == n.param && typ.Name == "string" {
						n.at[dir+"."+d.Name.Name], n.at[f.Name.Name+"."+d.Name.Name] = i, i
					}
					i++
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
					for i, value := range v.Values {
						if text, ok := literal(value); ok {
							n.consts[dir+"."+v.Names[i].Name] = text
						}
					}
				}
			}
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// look notes the name that a node gives, if it gives one.
func (n *named) look(dir string, node ast.Node) {
	switch node := node.(type) {
	case *ast.BasicLit:
		if text, ok := literal(node); ok {
			n.words[text], n.words[n.prefix[dir]+text] = true, true
		}
	case *ast.CallExpr:
		function := ""
		switch f := node.Fun.(type) {
		case *ast.Ident:
			function = dir + "." + f.Name
		case *ast.SelectorExpr:
			if pkg, ok := f.X.(*ast.Ident); ok {
				function = pkg.Name + "." + f.Sel.Name
			}
		}
		if i, ok := n.at[function]; ok && i < len(node.Args) {
			n.note(dir, node.Args[i])
		}
	case *ast.KeyValueExpr:
		if key, ok := node.Key.(*ast.Ident); ok && slices.Contains(n.fields, key.Name) {
			n.note(dir, node.Value)
		}
	case *ast.AssignStmt:
		for i, left := range node.Lhs {
			field, isField := left.(*ast.SelectorExpr)
			variable, isVariable := left.(*ast.Ident)
			if len(node.Rhs) != len(node.Lhs) {
				continue
			}
			text, whole := literal(node.Rhs[i])
			whole = !whole || strings.Contains(text, ".") // else it is a part of a name
			if isField && slices.Contains(n.fields, field.Sel.Name) || isVariable && variable.Name == n.param && whole {
				n.note(dir, node.Rhs[i])
			}
		}
	case *ast.FuncDecl:
		if (node.Name.Name == n.method || node.Name.Name == n.param) && node.Body != nil {
			ast.Inspect(node.Body, func(in ast.Node) bool {
				if r, ok := in.(*ast.ReturnStmt); ok {
					for _, value := range r.Results {
						n.note(dir, value)
					}
				}
				return true
			})
		}
	}
}

// note notes a name. One that is not known here is given from elsewhere; of a sum it is what it begins with.
func (n *named) note(dir string, e ast.Expr) {
	text, ok := literal(e)
	if id, isName := e.(*ast.Ident); isName {
		text, ok = n.consts[dir+"."+id.Name]
	}
	if sum, isSum := e.(*ast.BinaryExpr); isSum {
		if text, ok = literal(sum.X); ok {
			text += className
		}
	}
	if ok && text != "" {
		n.found[n.prefix[dir]+text] = dir
	}
}

// className stands for what is only known when a program runs.
const className = "NAME"

// gives tells whether a name that a table lists is given somewhere: as it is, or put together.
func (n *named) gives(name string) bool {
	before, after, _ := strings.Cut(name, ".")
	_, class := n.found[before+"."+className]
	return n.found[name] != "" || n.words[name] || class && n.words[after]
}

var inTable = regexp.MustCompile("`([a-z_]+(?:\\.[a-zA-Z_]+)*)`")

// rows are the names in the first column of the tables of a section.
func rows(t *testing.T, heading string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for line := range strings.Lines(section(t, heading)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(line[2:], " |")
		cell, _, _ = strings.Cut(cell, " of a ")
		for _, m := range inTable.FindAllStringSubmatch(cell, -1) {
			out[m[1]] = true
		}
	}
	return out
}

// same compares what the sources give with what a table lists.
func (n *named) same(t *testing.T, heading string, least int) {
	t.Helper()
	found, listed := n.in(t), rows(t, heading)
	for name, dir := range found {
		before, class := strings.CutSuffix(name, className)
		for other := range listed {
			class = class && !strings.HasPrefix(other, before)
		}
		if !listed[name] && (class || !strings.HasSuffix(name, className)) && !slices.Contains(n.inner, name) {
			t.Errorf("%s: %q is not in the table below %q of SCHEMAS.md", dir, name, heading)
		}
	}
	for name := range listed {
		if !n.gives(name) {
			t.Errorf("SCHEMAS.md: no program gives %q, which the table below %q lists", name, heading)
		}
	}
	if len(found) < least {
		t.Errorf("only %d names are found for %q: are they still given in this way?", len(found), heading)
	}
}

// TestErrorCodesAreThoseOfTheTable: what programs give as the code of an error is in the table, and nothing else is.
func TestErrorCodesAreThoseOfTheTable(t *testing.T) {
	n := named{param: "code", fields: []string{"Code", "ErrorCode"}, method: "ErrorCode",
		dirs: []string{"../cmd", "../lib"}, inner: []string{"exit"},
		prefix: map[string]string{"../lib/provider": "provider.", "../lib/provider/dialect": "provider."}}
	n.same(t, "## Error codes", 80)
}

// TestRulesAreThoseOfTheTable: what a verdict, or the list of denials, says as the rule is in the table.
func TestRulesAreThoseOfTheTable(t *testing.T) {
	n := named{param: "rule", fields: []string{"Rule", "rule"},
		dirs: []string{"../lib/policy", "../lib/gate", "../lib/executor", "../lib/loop",
			"../cmd/claw-gate", "../cmd/claw-exec"}}
	n.same(t, "## Rules", 30)
}
