package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWordsThatAreNotUsed: what the glossary says is not used, is not, and what it defines is defined once.
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
	for _, page := range []string{"COMMANDS.md", "CONFIGURATION.md", "EXIT_CODES.md", "GUIDE.md", "../README.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range banned {
			if at := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(w) + `s?\b`).FindIndex(text); at != nil {
				t.Errorf("%s says %q: …%s…", page, w, text[max(0, at[0]-40):min(len(text), at[1]+40)])
			}
		}
	}
}
