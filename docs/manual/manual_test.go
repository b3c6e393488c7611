package manual

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
)

// TestEveryKeyIsDocumented: each key that a configuration may have is on the page, and says what it means.
func TestEveryKeyIsDocumented(t *testing.T) {
	page := Configuration()
	for _, k := range config.Keys() {
		if name := k.Name[strings.LastIndex(k.Name, ".")+1:]; k.Type != "table" && k.Type != "list of tables" {
			if !strings.Contains(page, "| `"+name+"` | ") {
				t.Errorf("%s is not on the page", k.Name)
			}
		}
	}
	if strings.Contains(page, "|  |\n") {
		t.Error("a key has no meaning")
	}
}

// TestEveryVariableIsDocumented: each environment variable that a program reads is on the page, but for what programs
// tell each other.
func TestEveryVariableIsDocumented(t *testing.T) {
	plumbing := []string{"CLAWSH_DRIVEN", "CLAWSH_WITHHELD", "CLAWSH_WORKSPACE_FROM", "CLAWSH_WORKSPACE_ID",
		"CLAWSH_SEED"}
	found := 0
	for _, dir := range []string{"../../cmd", "../../lib"} {
		for _, text := range sources(t, dir) {
			for _, m := range regexp.MustCompile(`"(CLAWSH_[A-Z_]+)[="]`).FindAllStringSubmatch(text, -1) {
				found++
				if !slices.Contains(plumbing, m[1]) && !strings.Contains(environment, "`"+m[1]+"`") {
					t.Errorf("%s is not documented", m[1])
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d found", found)
	}
}

func sources(t *testing.T, dir string) (texts []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := dir + "/" + e.Name()
		switch {
		case e.IsDir():
			texts = append(texts, sources(t, path)...)
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(b))
		}
	}
	return texts
}

// TestEveryExitCodeIsDocumented: each constant of the exit codes has a meaning.
func TestEveryExitCodeIsDocumented(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../lib/envelope/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []int
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Exit") && len(v.Values) == 1 {
			code, err := strconv.Atoi(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			want = append(want, code)
		}
		return true
	})
	for _, e := range envelope.ExitCodes() {
		got = append(got, e.Code)
	}
	if slices.Sort(want); len(want) < 13 || !slices.Equal(got, want) {
		t.Errorf("documented: %v; there are: %v", got, want)
	}
}

// TestTextStaysAsItIs: nothing in a text of the help is taken for marks, of Markdown or of roff.
func TestTextStaysAsItIs(t *testing.T) {
	for _, text := range []string{".TH", "'quoted", "a -- b", "*x* _y_ <z> [l](m) #n", `back\slash`, "x|y", "-word",
		"1. one", "> x", "`c`", "&amp;", "+ x", "=="} {
		p := page("x", "1", "y", "# SECTION\nwords "+plain(text)+"\n", Build{"1", "2026-01-01"})
		shown := regexp.MustCompile(`\\f[BIRP]|\\&`).ReplaceAllString(string(p.Text), "")
		shown = strings.NewReplacer(`\\`, `\`, `\-`, "-").Replace(shown)
		if !strings.Contains(shown, "words "+text+"\n") {
			t.Errorf("%q becomes %q", text, p.Text)
		}
	}
}
