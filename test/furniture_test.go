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
	t.Parallel()
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
	t.Parallel()
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
			// elsewhere: an address, a page of the host
			if strings.Contains(link[1], ":") || strings.HasPrefix(link[1], "../../") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, link[1], err)
			}
		}
	}
}

var pathInText = regexp.MustCompile("`((?:lib|cmd|test|testdata|docs)/[\\w./]+)`")

// TestWalksLeadThroughRealFiles: every file that CONTRIBUTING.md names is there, but those that its examples make, and
// so is what it says to look for in one.
func TestWalksLeadThroughRealFiles(t *testing.T) {
	t.Parallel()
	text := read(t, "../CONTRIBUTING.md")
	paths := pathInText.FindAllStringSubmatch(text, -1)
	if len(paths) < 25 {
		t.Fatalf("only %d paths: has their marking changed?", len(paths))
	}
	for _, path := range paths {
		switch path[1] {
		case "lib/policy/programs/look.txt", "lib/card/roll.go", "lib/tool/roll.go",
			"lib/provider/dialect/parrot/parrot.go", "cmd/claw-gate/level.go", "docs/schemas/note.json",
			"lib/record/note.go", "lib/memory/note.go":
			continue
		}
		if _, err := os.Stat("../" + path[1]); err != nil {
			t.Errorf("CONTRIBUTING.md names %s: %v", path[1], err)
		}
	}
	for path, words := range map[string]string{"lib/tool/tool.go": "builtin bind", "lib/card/table.go": "table",
		"lib/card/card_test.go":           "TestDescriptionsAreShort TestSchemas",
		"test/walks_test.go":              "TestWalkOfATool TestWalkOfAProgram",
		"lib/policy/opened_linux_test.go": "TestLowProgramsOpenWhatIsNamed", "lib/provider/provider.go": "dialects",
		"lib/config/kinds.go": "providerKinds", "lib/config/config_test.go": "TestProblems",
		"lib/command/command.go": "Offered", "docs/schemas_test.go": "TestKindsHaveSchemas TestEveryFieldIsDocumented",
		"lib/record/table.go": "Told"} {
		for _, word := range strings.Fields(words) {
			if !strings.Contains(read(t, "../"+path), word) || !strings.Contains(text, strings.Trim(word, ":")) {
				t.Errorf("CONTRIBUTING.md or %s does not name %s", path, word)
			}
		}
	}
}
