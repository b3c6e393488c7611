package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// odd are phrases that puzzle a reader, each with what to write instead.
var odd = []struct {
	phrase  *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b(is|are|was) no (JSON|UTF-8|plain|program|number|object|directory|database|regular|checkpoint|public|` +
		`absolute|host|record|message|call|receipts?|repository|wall|list|file|valid)\b`), "is not a"},
	{regexp.MustCompile(`\bfor good([.,;:)]| what\b|$)`), "permanently"},
	{regexp.MustCompile(`\bg(o|oes|one|oing) on with(out)?\b`), "continue"},
	{regexp.MustCompile(`\bhow to go on\b`), "how to continue"},
	{regexp.MustCompile(`\ball the same\b`), "nevertheless, anyway"},
	{regexp.MustCompile(`\bone behind the other\b`), "concatenated, one after the other"},
	{regexp.MustCompile(`\b(written|words|hits|fields|lines|piped?) behind\b`), "after"},
	{regexp.MustCompile(`\bfor want of\b`), "without, because there is no"},
	{regexp.MustCompile(`\b(bears?|bearing) (a|an|no|the|macs|it|what)\b`), "has"},
	{regexp.MustCompile(`\bspelt\b`), "written, in the format of"},
	{regexp.MustCompile(`\b[Hh](old|olds|eld) (it|them) against\b`), "check it against"},
	{regexp.MustCompile(`\bputs? (it|them|a conversation|the latest conversation) away\b`), "archive"},
	{regexp.MustCompile(`\b[Tt]aken? for interrupted\b`), "reported as interrupted"},
	{regexp.MustCompile(`\bknown only when it runs\b`), "only known at run time"},
	{regexp.MustCompile(`\bthat no rule is for\b`), "unknown, unsupported"},
	{regexp.MustCompile(`\bexclude each other\b`), "cannot be combined"},
	{regexp.MustCompile(`\b(key of macs|keys? of seals|directory of keys|limit of cost|log of receipts)\b`),
		"a compound: MAC key"},
	{regexp.MustCompile(`\bWho (has|knows|holds|takes|kept)\b`), "anyone who has the"},
	{regexp.MustCompile(`\bwhat starts nothing\b`), "programs that start nothing"},
	{regexp.MustCompile(`\bharmless twice\b`), "safe to run again"},
	{regexp.MustCompile(`\btold (on|to) standard error\b`), "printed to standard error"},
	{regexp.MustCompile(`%T, which`), "no Go type names"},
	{regexp.MustCompile(`^(%s)?, in the middle of a turn$`), "the turn could not be finished"},
	{regexp.MustCompile(`\b[Rr]eplace (it|them|the \w+) by\b`), "replace it with"},
	{regexp.MustCompile(`\bwant one of %s`), "want %s, with the words joined by spelling.Or"},
	{regexp.MustCompile(`\b(rm|chmod|chown) -[rR] of everything\b`), "would delete or change a whole directory"},
	{regexp.MustCompile(`\b(forgets|forget) \w+ permanently\b`), "delete"},
	{regexp.MustCompile(`; see: claw`), "(run: clawsh doctor)"},
}

// noneOf is what is right before any noun.
var noneOf = regexp.MustCompile(`\b[Tt]here (is|are|was|were) no\b`)

// rightful are the files in which a word that the glossary rejects means something else.
var rightful = map[string]string{"profile": "lib/sandbox/seatbelt/seatbelt.go",
	"function call": "lib/provider/dialect/complaint.go"}

// unread are packages whose comments still have such phrases.
var unread = regexp.MustCompile(`^\.\./(cmd|lib/(policy|sandbox|tool|session|approval|broker|sibling|turn|command|doctor|onboard|memory|receipt))/`)

// comment ends the place of a comment.
const comment = " (comment)"

// rejected are the words that the glossary rejects, as phrases.
func rejected(t *testing.T) (words []*regexp.Regexp) {
	page, err := os.ReadFile("../docs/GLOSSARY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| instead of | write |\n|---|---|\n")
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table, -1) {
		words = append(words, regexp.MustCompile(`\b(?i:`+row[1][:1]+`)`+regexp.QuoteMeta(row[1][1:])+`s?\b`))
	}
	if len(words) < 20 {
		t.Fatalf("only %d rejected words: has the glossary changed?", len(words))
	}
	return words
}

// TestPlainEnglish: what people read has none of the phrases that once made them read a sentence twice, and no word
// that the glossary rejects.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	texts, words := 0, rejected(t)
	check := func(where, text string) {
		texts++
		text = noneOf.ReplaceAllString(text, "")
		for _, o := range odd {
			if found := o.phrase.FindString(text); found != "" {
				t.Errorf("%s: %q: write %q", where, found, o.instead)
			}
		}
		if !strings.Contains(where, ".go:") || strings.HasSuffix(where, comment) {
			return // the glossary's own test has the pages, and comments may speak of other things
		}
		for _, w := range words {
			found := w.FindString(text)
			if place, ok := rightful[found]; found != "" && (!ok || !strings.Contains(where, place)) {
				t.Errorf("%s: the glossary has another word for %q", where, found)
			}
		}
	}
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../lib/config/template.txt"} {
		pages, _ := filepath.Glob(pattern)
		for _, page := range pages {
			b, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(page) != "PLAN.md" && filepath.Base(page) != "CHANGELOG.md" { // they tell what was
				check(page, strings.Join(strings.Fields(string(b)), " "))
			}
		}
	}
	for _, top := range []string{"../cmd", "../lib"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return literals(path, check)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 2000 {
		t.Errorf("only %d texts: has the test lost them?", texts)
	}
}

// bare is a hint that is only a command, and does not say what it is for.
var bare = regexp.MustCompile(`^(clawsh|claw-[a-z]+)( [a-z-]+){0,2}( %s| [A-Z]+)*$`)

// TestHints: a hint says what to do, such as "run: clawsh init", and is not only the words of a command.
func TestHints(t *testing.T) {
	t.Parallel()
	hints := 0
	for _, top := range []string{"../cmd", "../lib"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				text, ok := hint(n)
				if ok {
					hints++
				}
				if bare.MatchString(text) {
					t.Errorf("%s: the hint %q is only a command: say what it is for", path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if hints < 100 {
		t.Errorf("only %d hints: has the test lost them?", hints)
	}
}

// hint returns the text of a call of WithHint.
func hint(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "WithHint" {
		return "", false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", true
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}

// literals hands each text and each comment of a Go file to a function, with its place.
func literals(path string, do func(where, text string)) error {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, c := range tree.Comments {
		if !unread.MatchString(path) {
			do(files.Position(c.Pos()).String()+comment, strings.Join(strings.Fields(c.Text()), " "))
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING || !strings.Contains(l.Value, " ") {
			return true
		}
		if text, err := strconv.Unquote(l.Value); err == nil {
			do(files.Position(l.Pos()).String(), strings.Join(strings.Fields(text), " "))
		}
		return true
	})
	return nil
}
