package onboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// sitting is a person at a terminal, and a server.
type sitting struct {
	*Interview
	flags   []string // that were given
	answers []string
	asked   []string
	told    []string
	env     map[string]string
	serve   func(p config.Provider) (string, error) // what it answers as its list of models
	seen    []config.Provider
}

func sit(t *testing.T, answers ...string) *sitting {
	t.Helper()
	dir := t.TempDir()
	s := &sitting{answers: answers, env: map[string]string{"HOME": dir}}
	paths, err := config.Locate("", func(name string) string { return s.env[name] })
	if err != nil {
		t.Fatal(err)
	}
	s.serve = func(config.Provider) (string, error) {
		return `{"models":[{"id":"one","context_length":8000},{"id":"two"}]}`, nil
	}
	s.Interview = &Interview{Answers: &Answers{present: config.Default(dir)}, paths: paths,
		given:    func(flag string) bool { return slices.Contains(s.flags, flag) },
		getenv:   func(name string) string { return s.env[name] },
		tell:     func(format string, args ...any) { s.told = append(s.told, fmt.Sprintf(format, args...)) },
		terminal: true}
	s.askLine = func(_ context.Context, prompt string, _ int) (string, error) {
		s.asked = append(s.asked, prompt)
		if len(s.answers) == 0 {
			return "", terminal.ErrNoTerminal
		}
		answer := s.answers[0]
		s.answers = s.answers[1:]
		return answer, nil
	}
	s.confirm = func(ctx context.Context, question string) (bool, error) {
		answer, err := s.askLine(ctx, question, 0)
		return answer == "y", err
	}
	s.query = func(_ context.Context, cfg *config.Config, stderr *os.File, v any, args ...string) error {
		p := cfg.Providers[cfg.DefaultProvider]
		s.seen = append(s.seen, p)
		text, err := s.serve(p)
		if err != nil {
			return err
		}
		return record.DecodeOpen([]byte(text), v)
	}
	return s
}

// TestInterview: enter takes what stands in brackets, a number takes a model from the list, and what the model reads
// bounds conversations.
func TestInterview(t *testing.T) {
	s := sit(t, "openai-compatible", "http://localhost:7/v1", "-", "1", "", "")
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := *s.Answers
	got.present = nil
	want := Answers{Kind: "openai-compatible", BaseURL: "http://localhost:7/v1", KeyEnv: "-", Model: "one",
		Way: "middle", Where: "here", context: 4000}
	if got != want || !strings.Contains(s.asked[3], "1  one\n") ||
		!strings.Contains(strings.Join(s.told, "\n"), "it lists 2 models") {
		t.Errorf("%+v\n%q\n%q", got, s.asked, s.told)
	}
	text, err := s.edited(s.paths)
	if err == nil {
		err = config.Check(text, s.paths)
	}
	if err != nil {
		t.Error(err)
	}
	for _, line := range []string{`default_model = "one"`, `base_url = "http://localhost:7/v1"`, `high = "ask"`,
		`max_tokens = 4000`, `workspace = "here"`} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%s is not written", line)
		}
	}
}

// TestFlagsAreNotAsked: each flag that was given takes one question away, and all of them all.
func TestFlagsAreNotAsked(t *testing.T) {
	full := []string{"openai-compatible", "http://localhost:7/v1", "-", "two", "full", "fixed"}
	for _, flag := range []string{"kind", "base-url", "api-key-env", "model", "way", "where"} {
		s := sit(t, full...)
		s.flags = []string{flag}
		s.Kind, s.BaseURL, s.KeyEnv, s.Model, s.Way, s.Where = full[0], full[1], full[2], full[3], full[4], full[5]
		i := slices.Index([]string{"kind", "base-url", "api-key-env", "model", "way", "where"}, flag)
		s.answers = slices.Delete(slices.Clone(full), i, i+1)
		if err := s.run(context.Background()); err != nil || len(s.asked) != 5 || s.Model != "two" || s.Way != "full" {
			t.Errorf("--%s: %v, %q", flag, err, s.asked)
		}
	}
}

// TestAskedAgain: an answer of no use is asked for again, with the reason, five times at most.
func TestAskedAgain(t *testing.T) {
	for bad, c := range map[string]struct {
		before []string
		told   string
	}{
		"moon":    {nil, "Unknown kind"},
		"http://": {[]string{"openai-compatible"}, "That cannot be used"},
		"no name": {[]string{"openai-compatible", "http://localhost:7/v1"},
			"not the name of an environment variable"},
		"http://x/v1": {[]string{"openai-compatible", "http://localhost:7/v1", "-"}, "That is a URL"},
		"strict or full": {[]string{"openai-compatible", "http://localhost:7/v1", "-", "1"},
			"Want strict, middle or full"},
		"moon ": {[]string{"openai-compatible", "http://localhost:7/v1", "-", "1", "full"},
			"Want here or fixed"},
	} {
		s := sit(t, slices.Concat(c.before, slices.Repeat([]string{bad}, maxAsked), []string{"more"})...)
		err := s.run(context.Background())
		if e := envelope.From(err); e == nil || e.Exit != envelope.ExitUsage || len(s.answers) != 1 ||
			!strings.Contains(strings.Join(s.told, "\n"), c.told) {
			t.Errorf("%q: %v, %q left, told %q", bad, err, s.answers, s.told)
		}
	}
	s := sit(t, "openai-compatible", "http://localhost:7/v1", "-", "three", "three", "1", "h")
	if err := s.run(context.Background()); err != nil || s.Model != "three" || s.Way != "strict" || s.Where != "here" {
		t.Errorf("%+v, %v", s.Answers, err)
	}
}

// TestNobodyThere: without a terminal the first flag that is missing is named; the key and the place may be left out.
func TestNobodyThere(t *testing.T) {
	order := []string{"kind", "base-url", "api-key-env", "model", "way", "where"}
	for _, missing := range order {
		s := sit(t)
		s.Kind, s.BaseURL, s.Model, s.Way = "openai-compatible", "http://localhost:7/v1", "one", "full"
		for _, flag := range order {
			if flag != missing {
				s.flags = append(s.flags, flag)
			}
		}
		err := s.run(context.Background())
		if optional := missing == "api-key-env" || missing == "where"; (err == nil) != optional || err != nil &&
			!strings.Contains(err.Error(), "--"+missing+" is missing") {
			t.Errorf("--%s: %v", missing, err)
		}
	}
}

// TestKeyStays: a server gets a key only once somebody has named it for this server.
func TestKeyStays(t *testing.T) {
	s := sit(t, "openai-compatible", "http://localhost:7/v1", "OLD_KEY", "one", "", "")
	s.env["OLD_KEY"] = "k"
	p := s.present.Providers[served]
	p.BaseURL, p.APIKeyEnv = "http://localhost:8/v1", "OLD_KEY"
	s.present.Providers[served] = p
	if err := s.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(s.seen) != 2 || s.seen[0].APIKeyEnv != "" || s.seen[1].APIKeyEnv != "OLD_KEY" ||
		strings.Contains(s.asked[2], "OLD_KEY") {
		t.Errorf("%+v\n%q", s.seen, s.asked)
	}
	p.Headers = map[string]string{"x": "y"}
	s.present.Providers[served] = p
	if _, err := s.edited(s.paths); envelope.From(err) == nil || envelope.From(err).Code != "config.invalid" {
		t.Errorf("headers for another server: %v", err)
	}
}

// TestServers: what is said about a server that lists no models, and what is done about it.
func TestServers(t *testing.T) {
	failed := func(code string) error {
		return &envelope.Error{Code: code, Message: `openai_compatible: Get "http://localhost:7/models": refused`}
	}
	s := sit(t, "openai-compatible", "http://localhost:7", "-", "1", "", "")
	s.serve = func(p config.Provider) (string, error) {
		if strings.HasSuffix(p.BaseURL, "/v1") {
			return `{"models":[{"id":"one"}]}`, nil
		}
		return "", failed("provider.not_found")
	}
	if err := s.run(context.Background()); err != nil || s.BaseURL != "http://localhost:7/v1" {
		t.Errorf("below /v1: %s, %v", s.BaseURL, err)
	}
	s = sit(t, "openai-compatible", "http://localhost:7/v1", "n", "http://localhost:7/v1", "y", "-", "", "", "")
	s.serve = func(config.Provider) (string, error) { return "", failed("provider.unreachable") }
	if err := s.run(context.Background()); err != nil || s.Model != "local-model" ||
		!strings.Contains(s.told[0], "Not reached: localhost:7: refused") {
		t.Errorf("not reached: %+v, %v, %q", s.Answers, err, s.told)
	}
	s = sit(t, "openai-compatible", "http://localhost:7/v1", "", "KEY", "1", "", "")
	s.env["OPENAI_API_KEY"], s.env["KEY"] = "bad", "good"
	s.serve = func(p config.Provider) (string, error) {
		if p.APIKeyEnv != "KEY" {
			return "", failed("provider.auth")
		}
		return `{"models":[{"id":"one"}]}`, nil
	}
	if err := s.run(context.Background()); err != nil || s.KeyEnv != "KEY" || s.Model != "one" {
		t.Errorf("a key is wanted: %+v, %v, %q", s.Answers, err, s.told)
	}
}

// TestWays: each way to work is recognised from its settings.
func TestWays(t *testing.T) {
	for _, way := range []string{"strict", "middle", "full"} {
		cfg := config.Default(t.TempDir())
		for _, set := range waySettings(way) {
			*map[string]*string{"security.autonomy": &cfg.Security.Autonomy,
				"security.harmless": &cfg.Security.Harmless, "security.high": &cfg.Security.High}[set.Key] = set.Value
		}
		if got := wayOf(cfg.Security); got != way {
			t.Errorf("%s is taken for %q", way, got)
		}
	}
	if len(waySettings("moon")) != 0 || wayOf(config.Security{Autonomy: "readonly"}) != "" {
		t.Error("there is a fourth way")
	}
}

func TestAnswersCheck(t *testing.T) {
	for _, c := range []struct {
		a     Answers
		flags []string
		want  string
	}{
		{Answers{Way: "full", Autonomy: "full"}, []string{"way", "autonomy"}, "cannot be combined"},
		{Answers{Way: "moon"}, []string{"way"}, "want strict"},
		{Answers{Model: "http://x"}, []string{"model"}, "not a URL"},
		{Answers{Where: "moon"}, []string{"where"}, "want here or fixed"},
		{Answers{Way: "full"}, []string{"way"}, ""}, {Answers{Way: "full", Model: "m"}, []string{"way", "model"}, ""},
	} {
		err := c.a.Check(func(flag string) bool { return slices.Contains(c.flags, flag) })
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.a, err)
		}
		if only := c.want == "" && !slices.Contains(c.flags, "model"); err == nil && c.a.wayOnly != only {
			t.Errorf("%+v: only the way: %t", c.a, c.a.wayOnly)
		}
	}
}

// TestChangeTrust: a change is whole or not made, and its error is the caller's.
func TestChangeTrust(t *testing.T) {
	home, broken := t.TempDir(), errors.New("broken")
	add := func(path string, err error) error {
		return ChangeTrust(home, func(l config.Trust) (config.Trust, error) {
			return l.With(config.Trusted{Path: path, Directory: "1:2", TrustedAt: "2026-11-22T10:00:00Z"}), err
		})
	}
	if err := errors.Join(add("/a", nil), add("/b", nil)); err != nil {
		t.Fatal(err)
	}
	if err := add("/c", broken); !errors.Is(err, broken) {
		t.Error(err)
	}
	trust, err := config.ReadTrust(home)
	if err != nil || len(trust.Workspaces) != 2 {
		t.Errorf("%+v, %v", trust, err)
	}
}
