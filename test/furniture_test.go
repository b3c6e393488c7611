package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"clawsh/lib/command"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFurniture checks what stands around the code: who may use it, what changed, and what an issue has to bring.
func TestFurniture(t *testing.T) {
	license := read(t, "../LICENSE")
	if !strings.HasPrefix(license, "MIT License\n") || !strings.Contains(license, "The clawsh authors") {
		t.Errorf("LICENSE: %.80s", license)
	}
	if !strings.Contains(read(t, "../CHANGELOG.md"), "\n## ["+command.Version+"] - 20") {
		t.Errorf("CHANGELOG.md has no section for %s", command.Version)
	}
	forms, err := filepath.Glob("../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(forms) < 3 {
		t.Fatalf("issue templates: %v, %v", forms, err)
	}
	for _, form := range forms {
		if filepath.Base(form) != "config.yml" && !strings.Contains(read(t, form), "label: Output of `clawsh doctor`") {
			t.Errorf("%s does not ask for the output of clawsh doctor", form)
		}
	}
}

var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)\s]*)?\)`)

// TestLinksLeadToFiles follows every relative link of the pages.
func TestLinksLeadToFiles(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../.github/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 8 {
		t.Fatalf("only %d pages: %v", len(pages), pages)
	}
	for _, page := range pages {
		for _, link := range markdownLink.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(link[1], ":") || strings.HasPrefix(link[1], "../../") { // elsewhere: an address, a page of the host
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, link[1], err)
			}
		}
	}
}
