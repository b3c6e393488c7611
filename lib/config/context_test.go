package config

import (
	"strings"
	"testing"
)

func TestContextAndSpending(t *testing.T) {
	c, err := Load(places(t, "[context]\nmax_tokens = 5000\n[limits]\nmax_tokens = 7\nmax_cost = 0.25\n"))
	if err != nil || c.Context != (Context{MaxTokens: 5000, CompactAtTokens: 24_000, ProjectFile: "AGENTS.md"}) ||
		c.Limits.MaxTokens != 7 || c.Limits.MaxCost != 0.25 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"[context]\nmax_tokens = -1\n", "[context]\ncompact_at_tokens = -1\n",
		"[context]\nmax_tokens = \"many\"\n", "[context]\nmaxtokens = 1\n",
		"[limits]\nmax_tokens = -1\n", "[limits]\nmax_cost = -0.1\n", "[limits]\nmax_cost = nan\n",
		"[limits]\nmax_cost = inf\n"} {
		if _, err := Load(places(t, bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

// With a limit of cost, whoever may answer needs a price: all of those behind a reliable one, under the model that they
// would use.
func TestCheckPrices(t *testing.T) {
	c, err := Load(places(t, `[providers.models.a]
kind = "openai-compatible"
base_url = "http://localhost:1/v1"
model = "big"
[providers.models.b]
kind = "openai-compatible"
base_url = "http://localhost:1/v1"
model = "small"
[providers.models.both]
kind = "reliable"
providers = ["a", "b"]
[agents.poet]
provider = "b"
model = "verse"
[[usage.prices]]
model = "big"
input_per_million = 1.0
output_per_million = 2.0
[[usage.prices]]
model = "verse"
provider = "b"
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		agent, provider, model string
		missing                string
	}{{"", "a", "", ""}, {"", "b", "", "small"}, {"", "both", "", "small"}, {"", "both", "big", ""},
		{"", "a", "other", "other"}, {"poet", "", "", ""},
		{"poet", "a", "", "verse"}, {"", "", "", "mock"}, {"", "local", "big", "mock"}} {
		provider, model := c.Model(x.agent, x.provider, x.model)
		err := c.CheckPrices(provider, model)
		if x.missing == "" && err != nil || x.missing != "" &&
			(err == nil || !strings.Contains(err.Error(), x.missing)) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	for _, x := range []struct {
		asked, reported string
		want            float64
		known           bool
	}{{"big", "big", 5, true}, {"big", "big-2026-01-01", 5, true}, {"other", "big", 5, true},
		{"other", "strange", 0, false}} {
		if cost, known := c.Price("a", x.asked, x.reported, 1_000_000, 2_000_000); cost != x.want || known != x.known {
			t.Errorf("%+v: %g, %t", x, cost, known)
		}
	}
}
