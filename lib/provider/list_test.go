package provider

import (
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

func TestListAndTest(t *testing.T) {
	cfg := config.Default(t.TempDir())
	cfg.DefaultProvider = "b"
	cfg.Providers = map[string]config.Provider{"c": {Kind: "reliable", Providers: []string{"b", "a"}},
		"a": {Kind: "mock", Model: "m"},
		"b": {Kind: "openai-compatible", BaseURL: "https://x.example/v1", Model: "n", APIKeyEnv: "K"}}
	for key, want := range map[string]string{" ": "false", testKey: "true"} {
		b, err := record.Encode(List(cfg, func(string) string { return key }))
		if wants := `[{"name":"a","kind":"mock","model":"m","api_key_set":false,"default":false},{"name":"b","kind":"openai-compatible","model":"n","base_url":"https://x.example/v1","api_key_env":"K",` +
			`"api_key_set":` + want +
			`,"default":true},{"name":"c","kind":"reliable","model":"b, then a","api_key_set":false,"default":false}]`; err != nil || string(b) != wants {
			t.Errorf("%s, %v", b, err)
		}
	}
	p, err := scripted(t, `{"final_text":"`+strings.Repeat("\\u001b", 100)+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Test(t.Context(), p)
	if err != nil || r.Provider != "local" || r.Kind != "mock" || r.Model != "mock" || r.LatencyMS < 0 ||
		len(r.Text) != maxTestBytes/len(`\x1b`) {
		t.Errorf("%+v, %v", r, err)
	}
	if p, err = scripted(t, `{"error":"auth"}`); err != nil {
		t.Fatal(err)
	}
	if _, err := Test(t.Context(), p); code(err) != dialect.CodeAuth {
		t.Error(err)
	}
}
