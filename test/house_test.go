package test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rows is the import order of the house, top to bottom: a package imports only what stands in a lower row.
var rows = [][]string{
	{"session", "doctor", "onboard", "agent"},
	{"loop"},
	{"stage", "broker", "receiptlog", "executor", "gate"},
	{"provider", "policy", "tool", "receipt", "memory", "sandbox", "approval", "turn"},
	{"provider/dialect/chat", "policy/programs", "sandbox/seatbelt"},
	{"provider/dialect", "command", "sibling"},
	{"config", "permit", "terminal", "process", "confine", "conversation", "edit", "audit"},
	{"durable", "result", "card"},
	{"record", "envelope", "seccomp", "secret", "obeyed", "spelling", "place"},
}

func rowOf(pkg string) int {
	for i, r := range rows {
		if slices.Contains(r, pkg) {
			return i
		}
	}
	return -1
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, line := range goList(t, "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}}>{{.}} {{end}}`, "./lib/...") {
		from, to, _ := strings.Cut(line, ">")
		if !strings.HasPrefix(to, "clawsh/") {
			continue
		}
		from, to = strings.TrimPrefix(from, "clawsh/lib/"), strings.TrimPrefix(to, "clawsh/lib/")
		if rowOf(from) < 0 || rowOf(to) < 0 {
			t.Errorf("%s imports %s: one of them has no place in the house; add it to rows in test/house_test.go", from, to)
		} else if rowOf(to) <= rowOf(from) {
			t.Errorf("%s imports %s, which does not stand below it", from, to)
		}
	}
}

// TestLinkLists holds each binary to its imports.txt: our own packages and other modules' packages that it may contain.
func TestLinkLists(t *testing.T) {
	t.Parallel()
	for _, name := range binaries(t) {
		want := readList(t, filepath.Join("..", "cmd", name, "imports.txt"))
		var got []string
		for _, dep := range goList(t, "-deps", "-f", `{{if not .Standard}}{{.ImportPath}}{{end}}`, "./cmd/"+name) {
			if dep != "clawsh/cmd/"+name {
				got = append(got, dep)
			}
		}
		for _, std := range []string{"net/http", "os/exec"} {
			if slices.Contains(goList(t, "-deps", "./cmd/"+name), std) {
				got = append(got, std)
			}
		}
		slices.Sort(got)
		if os.Getenv("UPDATE_SCRIPTS") != "" {
			os.WriteFile(filepath.Join("..", "cmd", name, "imports.txt"), []byte(strings.Join(got, "\n")+"\n"), 0o644)
			continue
		}
		for _, g := range got {
			if !slices.Contains(want, g) {
				t.Errorf("%s links %s, which its imports.txt does not list; if it may, "+
					"UPDATE_SCRIPTS=1 go test ./test -run LinkLists adds it", name, g)
			}
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s does not link %s: take it from its imports.txt", name, w)
			}
		}
	}
}

// TestForbiddenLinks are the lines that no imports.txt may give up (DESIGN §5).
func TestForbiddenLinks(t *testing.T) {
	t.Parallel()
	sqlite := "github.com/ncruces/go-sqlite3"
	for name, never := range map[string][]string{
		"claw-gate":    {"net/http", "clawsh/lib/process", "clawsh/lib/provider", "clawsh/lib/tool", sqlite},
		"claw-receipt": {"net/http", "os/exec", "clawsh/lib/process", "clawsh/lib/provider", "clawsh/lib/tool", sqlite},
		"claw-mem":     {"net/http", "os/exec", "clawsh/lib/process", "clawsh/lib/provider", "clawsh/lib/tool"},
		"claw-llm":     {"clawsh/lib/tool", "clawsh/lib/permit", "clawsh/lib/receipt", "clawsh/lib/memory", sqlite},
		"claw-exec":    {"clawsh/lib/provider", "clawsh/lib/receipt", "clawsh/lib/memory", sqlite},
		"claw-loop":    {"clawsh/lib/provider", "clawsh/lib/permit", "clawsh/lib/tool", "net/http", sqlite},
		"clawsh":       {"clawsh/lib/provider", "clawsh/lib/permit", "clawsh/lib/tool", "net/http", sqlite},
	} {
		deps := goList(t, "-deps", "./cmd/"+name)
		for _, n := range never {
			if slices.Contains(deps, n) {
				t.Errorf("%s must never link %s", name, n)
			}
		}
	}
}

// TestStartsNothing looks into the binaries that must not start programs or speak HTTP: no function that does is in
// them. The gate imports os/exec, by a test's help in a package of the shell's parser; the linker leaves it out.
func TestStartsNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claw-gate", "claw-receipt", "claw-mem"} {
		bin := filepath.Join(t.TempDir(), name)
		build := exec.Command("go", "build", "-o", bin, "./cmd/"+name)
		build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		symbols, err := exec.Command("go", "tool", "nm", bin).Output()
		if err != nil || !bytes.Contains(symbols, []byte(" T main.main\n")) {
			t.Fatalf("the symbols of %s: %v", name, err)
		}
		for line := range strings.Lines(string(symbols)) {
			symbol := strings.Fields(line)
			if len(symbol) < 3 || !strings.EqualFold(symbol[1], "t") {
				continue
			}
			for _, never := range []string{"os/exec.", "os.StartProcess", "syscall.StartProcess", "syscall.forkExec",
				"syscall.Exec", "net/http."} {
				if strings.HasPrefix(symbol[2], never) {
					t.Errorf("%s has %s", name, symbol[2])
				}
			}
		}
	}
}

func TestMainsAreSmallAndNamesAreNouns(t *testing.T) {
	t.Parallel()
	for _, name := range binaries(t) {
		b, err := os.ReadFile(filepath.Join("..", "cmd", name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("\n")); n > 60 {
			t.Errorf("cmd/%s/main.go has %d lines, at most 60", name, n)
		}
	}
	for _, dir := range goList(t, "-f", "{{.Name}}", "./...") {
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "types", "manager", "misc", "base"},
			dir) {
			t.Errorf("package %s: name it for what it owns", dir)
		}
	}
}

// TestOneCodec keeps JSON on the wire strict: encoding/json folds case, takes the last duplicate and repairs UTF-8.
func TestOneCodec(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("\"encoding/json\"")) {
			t.Errorf("%s imports encoding/json", path)
		}
		own := strings.Contains(path, "lib/record/") || strings.Contains(path, "lib/envelope/")
		if !own && bytes.Contains(b, []byte("\"github.com/go-json-experiment/")) {
			t.Errorf("%s imports the JSON codec: record and envelope alone do", path)
		}
		if !strings.Contains(path, "lib/command/") && !strings.Contains(path, "docs/generate/") &&
			bytes.Contains(b, []byte("os.Exit(")) {
			t.Errorf("%s exits: lib/command alone does", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneListOfKinds: nobody but the table keeps a list of kinds of records; what holds for some of them is a trait
// there, or a row of the memory's forms.
func TestOneListOfKinds(t *testing.T) {
	t.Parallel()
	lists := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if list, ok := n.(*ast.CompositeLit); ok && kindsIn(list) > 2 {
				lists++
				if rel := strings.TrimPrefix(path, "../"); rel != "lib/record/table.go" &&
					rel != "lib/memory/kinds.go" {
					t.Errorf("%s has a list of kinds; give them a trait in lib/record/table.go", rel)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || lists != 2 {
		t.Errorf("%d lists of kinds, %v", lists, err)
	}
}

// kindsIn counts the kinds that stand in a list, alone, as names of a map, or first in a row.
func kindsIn(list *ast.CompositeLit) (n int) {
	for _, e := range list.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Key
		}
		if row, ok := e.(*ast.CompositeLit); ok && len(row.Elts) > 0 {
			e = row.Elts[0]
		}
		if sel, ok := e.(*ast.SelectorExpr); ok {
			e = sel.Sel
		}
		if name, ok := e.(*ast.Ident); ok && strings.HasPrefix(name.Name, "Kind") && len(name.Name) > len("Kind") {
			n++
		}
	}
	return n
}

func binaries(t *testing.T) []string {
	t.Helper()
	dirs, err := os.ReadDir("../cmd")
	if err != nil || len(dirs) != 7 {
		t.Fatalf("%d programs, want 7: %v", len(dirs), err)
	}
	var names []string
	for _, d := range dirs {
		names = append(names, d.Name())
	}
	return names
}

func readList(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	var list []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	return list
}

// ownContainment are ways to tell whether a path lies in a directory, written by hand.
var ownContainment = regexp.MustCompile(`(HasPrefix|CutPrefix)\(.*\+ ?("/"|string\((os\.Path|filepath\.)Separator\))|filepath\.Rel\(|os\.PathSeparator\)\)`)

// TestOneContainmentCheck: what contains a path is told by lib/place alone. Four packages had a check of their own, and
// their arguments were not in the same order.
func TestOneContainmentCheck(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`strings.HasPrefix(path, dir+"/")`,
		`strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")`, `rel, err := filepath.Rel(base, path)`,
		`strings.HasPrefix(path, dir+string(os.PathSeparator))`, `strings.CutPrefix(path, dir + "/")`} {
		if !ownContainment.MatchString(bad) {
			t.Errorf("%s is not found", bad)
		}
	}
	for _, top := range []string{"../lib", "../cmd"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "lib/place/") {
				return err
			}
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				if ownContainment.MatchString(line) {
					t.Errorf("%s:%d tells by itself what lies in a directory: use lib/place", path, i+1)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
