package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWordsThatAreNotUsed: no page uses a word that the glossary rejects, and each word is defined once. For the texts
// of the programs, see TestPlainEnglish.
func TestWordsThatAreNotUsed(t *testing.T) {
	glossary, err := os.ReadFile("GLOSSARY.md")
	if err != nil {
		t.Fatal(err)
	}
	defined, unused, ok := strings.Cut(string(glossary), "## Words that are not used")
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`)
	var words, banned []string
	for _, m := range row.FindAllStringSubmatch(defined, -1) {
		if m[1] != "word" && slices.Contains(words, m[1]) {
			t.Errorf("%s is defined twice", m[1])
		}
		words = append(words, m[1])
	}
	for _, m := range row.FindAllStringSubmatch(unused, -1) {
		if m[1] != "instead of" {
			banned = append(banned, m[1])
		}
	}
	if !ok || len(words) < 50 || len(banned) < 15 {
		t.Fatalf("%d words, %d that are not used: have the tables changed?", len(words), len(banned))
	}
	pages, _ := filepath.Glob("*.md")
	more, _ := filepath.Glob("../*.md")
	for _, page := range append(pages, more...) {
		if page == "GLOSSARY.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range banned {
			if at := regexp.MustCompile(`\b[` + w[:1] + strings.ToUpper(w[:1]) + `]` + regexp.QuoteMeta(w[1:]) +
				`s?\b`).FindIndex(text); at != nil {
				t.Errorf("%s says %q: …%s…", page, w, text[max(0, at[0]-40):min(len(text), at[1]+40)])
			}
		}
	}
}
