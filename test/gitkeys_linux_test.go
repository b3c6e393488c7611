package test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The names of settings whose values look like programs, and like files.
var (
	looksLikeProgram = regexp.MustCompile(`(?i)(command|cmd|program|textconv|external|smudge|process|driver|pager|editor|helper|hook|` +
		`browser|askpass|exec|tunnel|viewer|vcs|proxy|url|uri|insteadof|tool\.|httpd|smtpserver|receivepack|uploadpack$|fsmonitor|\.\*$)`)
	looksLikeFile = regexp.MustCompile(`(?i)(file|path|dir|directory|target|template|list|worktree|prefixes|blob|cert|key|pubkey|cainfo|` +
		`uri|dictionary|folder|location|notesref|displayref|dbname|root|excludedecoration)$`)
)

// gitKeys are the settings of git by what they name: testdata/git/keys.txt.
func gitKeys(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "git", "keys.txt"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		kind, key, _ := strings.Cut(line, " ")
		if kind != "program" && kind != "file" && kind != "neither" || kinds[key] != "" {
			t.Errorf("keys.txt: %q is of no kind, or twice", line)
		}
		kinds[key] = kind
	}
	return kinds
}

// settled makes a key of the installed git one that a repository can have.
func settled(key string) string {
	return strings.NewReplacer("<name>", "c", "<driver>", "c", "<tool>", "c", "<cmd>", "log", "<url>", "c", "<remote>",
		"origin", "*", "c",
		"<submodule>", "c", "<condition>", "onbranch:main", "<base>", "ext::c", "<format>", "ssh", "<id>", "c",
		"<identity>", "c").Replace(key)
}

// setKeys writes settings into a repository as git config would, but in one step.
func setKeys(repo string, values map[string]string) error {
	f, err := os.OpenFile(filepath.Join(repo, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
		section := key[:first]
		if first < last {
			section += ` "` + quote.Replace(key[first+1:last]) + `"`
		}
		fmt.Fprintf(f, "[%s]\n\t%s = \"%s\"\n", section, key[last+1:], quote.Replace(values[key]))
	}
	return f.Close()
}

// TestGitKeysAreClassified: a key that may name a program or a file and that nobody has looked at fails.
func TestGitKeysAreClassified(t *testing.T) {
	t.Parallel()
	kinds := gitKeys(t)
	out, err := exec.Command("git", "help", "--config").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for line := range strings.Lines(string(out)) {
		key := strings.TrimSpace(line)
		if !strings.Contains(key, ".") || strings.Contains(key, " ") {
			continue
		}
		known++
		if kinds[key] == "" && (looksLikeProgram.MatchString(key) || looksLikeFile.MatchString(key)) {
			t.Errorf("%s may name a program or a file: give it a row in testdata/git/keys.txt", key)
		}
	}
	if known < 500 {
		t.Errorf("git names %d keys: is this its list?", known)
	}
}
