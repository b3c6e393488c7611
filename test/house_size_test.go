package test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sizes that the house allows.
const (
	mostFileLines     = 400
	mostFunctionLines = 60
)

// large are the functions that are longer, each for a reason: tables of data, and what has yet to be taken apart.
var large = map[string]string{
	"lib/policy/policy_test.go: TestFilesAndTools":                   "a table",
	"lib/config/config_test.go: TestProblems":                        "a table",
	"lib/memory/context_test.go: TestContext":                        "a table",
	"lib/policy/always_test.go: TestAlways":                          "a table",
	"lib/policy/effort_test.go: shapes":                              "a table",
	"lib/policy/find.go: findRunner":                                 "to be taken apart",
	"lib/provider/silence_test.go: TestSignsOfLife":                  "a table",
	"lib/receipt/receipt_test.go: TestTampering":                     "a table",
	"lib/secret/shapes.go: tokens":                                   "a table",
	"lib/tool/scriptwire_test.go: TestInterpreterCannotUndoARefusal": "a table",
	"test/attack/processes_linux.go: processes":                      "a table",
	"test/attack/processes_linux.go: descriptors":                    "a table",
	"test/inside/inside_linux.go: run":                               "to be taken apart",
	"test/ordinary_linux_test.go: TestOrdinaryCommandsRun":           "to be taken apart",
	"test/pty_test.go: pty":                                          "to be taken apart",
	"test/writer_test.go: TestIndependentWriter":                     "to be taken apart",
	"lib/policy/shell_test.go: TestShell":                            "a table",
	"lib/sandbox/filter_args_linux_test.go: argClasses":              "a table",
	"lib/memory/mirror_test.go: TestMirror":                          "to be taken apart",
	"lib/memory/open_test.go: TestOpenRefuses":                       "to be taken apart",
	"lib/tool/homes_test.go: TestSweepHomes":                         "to be taken apart",
	"lib/receipt/receipt_test.go":                                    "to be taken apart",
	"lib/receipt/tiles_test.go":                                      "to be taken apart",
	"test/interpreter_linux_test.go: TestInterpreterIsBounded":       "to be taken apart",
	"test/obeyed_linux_test.go: refusesToWrite":                      "to be taken apart",
	"test/ssh_linux_test.go: newFar":                                 "to be taken apart",
	"test/ssh_linux_test.go: TestStagesBySSH":                        "to be taken apart",
}

// TestSizes holds files and functions to their sizes, those of tests too.
func TestSizes(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		if n := bytes.Count(b, []byte("\n")); n > mostFileLines {
			found[name] = true
			if large[name] == "" {
				t.Errorf("%s has %d lines, at most %d", name, n, mostFileLines)
			}
		}
		for f, n := range longFunctions(t, path, b) {
			found[name+": "+f] = true
			if large[name+": "+f] == "" {
				t.Errorf("%s: %s has %d lines, at most %d", name, f, n, mostFunctionLines)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range large {
		if !found[name] {
			t.Errorf("%s is not too large any more: take it from the list", name)
		}
	}
}

// longFunctions are the functions of a file that are too long, with their lines between the braces.
func longFunctions(t *testing.T, path string, source []byte) map[string]int {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		if n := files.Position(f.Body.End()).Line - files.Position(f.Pos()).Line + 1; n > mostFunctionLines {
			out[f.Name.Name] = max(n, out[f.Name.Name])
		}
	}
	return out
}
