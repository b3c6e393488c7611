package approval

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
)

func ruleNamed(n int) config.Rule {
	return config.Rule{Name: fmt.Sprintf("always-%012d", n),
		When: fmt.Sprintf(`.tool == "time" and .args == {n: %d}`, n), Decide: "allow", Reason: "you allowed it"}
}

// namesIn are the rules of a file, in their order.
func namesIn(t *testing.T, path string) (names []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := config.ParseRules(data)
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	for _, r := range rules {
		names = append(names, strings.TrimLeft(strings.TrimPrefix(r.Name, "always-"), "0"))
	}
	return names
}

// TestRules: rules are appended once each, whatever a crash has left at the end, and any of them can be taken out again
// alone.
func TestRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.toml")
	if err := AppendRule(path, ruleNamed(1)); err == nil {
		t.Error("a file was made: the home's is there, or the gate may not have it")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 2, 3, 1} {
		if err := AppendRule(path, ruleNamed(n)); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(namesIn(t, path)); got != "[1 2 3]" {
		t.Fatal(got)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := len(whole) / 3
	for cut := 1; cut < block; cut += 7 { // in the middle of the third
		if err := os.WriteFile(path, whole[:len(whole)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AppendRule(path, ruleNamed(4)); err != nil {
			t.Errorf("%d bytes short: %v", cut, err)
			continue
		}
		if got := fmt.Sprint(namesIn(t, path)); got != "[1 2 4]" && got != "[1 2 3 4]" {
			t.Errorf("%d bytes short: %s", cut, got)
		}
	}
	for n, want := range map[int]string{1: "[2 3]", 2: "[1 3]", 3: "[1 2]"} {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := RemoveRule(path, ruleNamed(n).Name); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(namesIn(t, path)); got != want {
			t.Errorf("without %d: %s", n, got)
		}
		if err := RemoveRule(path, ruleNamed(n).Name); envelope.From(err) == nil ||
			envelope.From(err).Code != "not_found" {
			t.Errorf("twice: %v", err)
		}
	}
}

// TestRulesRefused: a file that is not one of rules, or grows too long, is left as it is.
func TestRulesRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.toml")
	large := ruleNamed(1)
	large.When = `.tool == "` + strings.Repeat("x", maxRules) + `"`
	for name, c := range map[string]struct {
		text string
		rule config.Rule
	}{"too long": {"", large}, "not rules": {"x = 1\n\n", ruleNamed(1)}} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := AppendRule(path, c.rule)
		if after, _ := os.ReadFile(path); err == nil || string(after) != c.text {
			t.Errorf("%s: %v, %.80q", name, err, after)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := AppendRule(link, ruleNamed(1)); err == nil {
		t.Error("a rule is written through a link")
	}
}
