package config

import (
	"os"
	"strings"
	"testing"
)

// A rule that a crash has torn, at any byte, counts for nothing, and those before it stay.
func TestTornRules(t *testing.T) {
	rule := func(when string) Rule {
		return Rule{Name: AlwaysName(when), When: when, Decide: "allow", Reason: "r", Match: []string{`{"a":"\\\""}`},
			NotMatch: []string{"x"}}
	}
	first, second := rule(`.tool == "shell"`).Block("2026-01-01"), rule(`.tool == "http"`).Block("2026-01-02")
	for n := range len(second) {
		rules, err := ParseRules(append(append([]byte(nil), first...), second[:n]...))
		if err != nil || len(rules) != 1 || rules[0].When != `.tool == "shell"` {
			t.Fatalf("%d bytes: %v, %v", n, rules, err)
		}
	}
	if rules, err := ParseRules(append(first, second...)); err != nil || len(rules) != 2 {
		t.Fatalf("%v, %v", rules, err)
	}
}

func TestWrittenRulesAreChecked(t *testing.T) {
	home, user := t.TempDir(), t.TempDir()
	p := Paths{Home: home, File: home + "/config.toml",
		getenv: func(name string) string { return map[string]string{"HOME": user}[name] }}
	path := home + "/rules.toml"
	good := string(Rule{Name: AlwaysName("true"), When: "true", Decide: "allow"}.Block("now"))
	for text, want := range map[string]string{
		good: "", "": "", "[security]\nautonomy = \"full\"\n": "nothing else", "x = 1": "nothing else",
		"[[security.rules]]\nname":                                  "syntax",
		strings.Replace(good, `when = "true"`, `when = "false"`, 1): "was changed by hand",
		good + good: "another rule has the same name",
		"[[security.rules]]\nname = \"mine\"\nwhen = \"true\"\n":                    "want deny, ask or allow",
		"[[security.rules]]\nname = \"mine\"\nwhen = \"true\"\ndecide = \"deny\"\n": "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(p)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	os.WriteFile(path, []byte(good), 0o600)
	os.Chmod(path, 0o622)
	if _, err := Load(p); err == nil || !strings.Contains(err.Error(), "by others") {
		t.Errorf("rules that others can write: %v", err)
	}
	os.Remove(path)
	os.Symlink(home+"/x", path)
	if _, err := Load(p); err == nil {
		t.Error("a link is followed")
	}
}
