package config

import (
	"errors"
	"strings"
	"testing"
)

// TestWhatAServerIsSent: a secret never stands in the file, and what is clawsh's own cannot be set.
func TestWhatAServerIsSent(t *testing.T) {
	home := t.TempDir()
	secretValue := "gh" + "p_" + strings.Repeat("fAk3T0kEn", 4)
	for text, want := range map[string]string{
		`headers = { "X-Title" = "clawsh" }`:                                          "",
		`headers_env = { "api-key" = "AZURE_KEY" }`:                                   "",
		`query = { "api-version" = "2024-10-21" }`:                                    "",
		`body = { top_p = 0.9, a = { b = [1, "x", true] } }`:                          "",
		`base_url = "https://x.example/v1?api-version=1"`:                             "",
		`headers = { Authorization = "Bearer x" }`:                                    "headers.Authorization: (not shown): secrets belong in the environment",
		`headers = { "X-Api-Key" = "x" }`:                                             "secrets belong",
		`headers = { "X-A" = "` + secretValue + `" }`:                                 "secrets belong",
		`headers = { Host = "x" }`:                                                    "not clawsh's own",
		`headers = { "a b" = "x" }`:                                                   "not clawsh's own",
		`headers = { "X-A" = "x\ny" }`:                                                "printable ASCII",
		`headers_env = { "api-key" = "sk-1 2" }`:                                      "want the name of an environment variable",
		`query = { key = "x" }`:                                                       "secrets belong",
		`body = { messages = [] }`:                                                    "set by clawsh",
		`body = { when = 2026-01-01 }`:                                                "JSON has no dates",
		`body = { x = nan }`:                                                          "JSON has no dates",
		`body = { a = ["` + secretValue + `"] }`:                                      "looks like a secret",
		`base_url = "https://x.example/v1?key=abc"`:                                   "must not contain a secret",
		`base_url = "https://x.example/v1?a=` + secretValue + `"`:                     "must not contain a secret",
		`base_url = "https://x.example/v1#f"`:                                         "must not contain a fragment",
		`headrs = { a = "b" }`:                                                        "did you mean headers",
		"[providers.models.web.body]\nx = 1\n[providers.models.web.query]\ny = \"1\"": "",
	} {
		base := "base_url = \"https://x.example/v1\"\n"
		if strings.HasPrefix(text, "base_url") {
			base = ""
		}
		err := Check([]byte("[providers.models.web]\nkind = \"openai-compatible\"\n"+base+text+"\n"),
			Paths{Home: home + "/.clawsh", File: home + "/.clawsh/config.toml",
				getenv: func(name string) string { return map[string]string{"HOME": home}[name] }})
		var p *Problems
		said := ""
		if errors.As(err, &p) {
			said = err.Error()
			for _, one := range p.List {
				said += one.Key + ": " + one.Message
			}
		}
		if want == "" && err != nil || want != "" && !strings.Contains(said, want) || strings.Contains(said, "fAk3") {
			t.Errorf("%s: %v %s, want %s", text, err, said, want)
		}
	}
	c := &Config{Providers: map[string]Provider{"a": {APIKeyEnv: "K",
		HeadersEnv: map[string]string{"x": "H", "y": "K"}}}}
	if got := strings.Join(c.SecretEnv(), " "); got != "H K" {
		t.Error(got)
	}
}
