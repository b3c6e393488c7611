package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// parrot is a dialect of its own, made as CONTRIBUTING says, to show that the transport knows nothing of another one.
// It is asked with {"to":MODEL,"said":[TEXT…]}, and answers {"say":TEXT}, {"do":TOOL,"with":TEXT} and {"over":REASON},
// in events or in one list.
type parrot struct{ list string }

func (p parrot) Wire() dialect.Wire {
	return dialect.Wire{Name: "parrot", Ask: "/squawk", List: p.list, KeyHeader: "X-Seed",
		Headers: map[string]string{"X-Perch": "3"}}
}

func (parrot) Ask(q *dialect.Question) (record.Raw, error) {
	body := struct {
		To    string   `json:"to"`
		Said  []string `json:"said"`
		Pitch float64  `json:"pitch,omitzero"`
	}{To: q.Model, Pitch: 1}
	for _, m := range q.Messages {
		body.Said = append(body.Said, m.Content)
	}
	if q.Without["pitch"] {
		body.Pitch = 0
	}
	return record.Encode(body)
}

func (parrot) Refused(words string, _ record.Raw) string {
	if dialect.Mentions(words, "pitch") {
		return "pitch"
	}
	return ""
}

func (parrot) Complaint(status int, body []byte, k dialect.Keys) dialect.Complaint {
	return dialect.ReadComplaint(status, body, k)
}

func (parrot) Models([]byte, dialect.Keys) ([]dialect.Model, error) {
	return []dialect.Model{{ID: "grey " + testKey}, {ID: "ara"}, {ID: "ara"}, {}}, nil
}

func (parrot) Answer(l dialect.Limits) dialect.Answer { return &squawk{Limits: l} }

type squawk struct {
	dialect.Limits
	size int
	r    dialect.Reply
}

func (s *squawk) Whole(body []byte) (text string, err error) {
	elements, err := record.Elements(body)
	for _, e := range elements {
		more, failed := s.Event("", e)
		text, err = text+more, errors.Join(err, failed)
	}
	return text, err
}

func (s *squawk) Event(name string, data []byte) (string, error) {
	if name == "choke" {
		return "", dialect.Reported(data, s.Keys)
	}
	var e struct {
		Say  string `json:"say"`
		Do   string `json:"do"`
		With string `json:"with"`
		Over string `json:"over"`
	}
	if s.size += len(data); s.size > s.Bytes {
		return "", dialect.ErrTooLarge
	}
	if err := record.DecodeOpen(data, &e); err != nil {
		return "", err
	}
	if e.Do != "" {
		s.r.Calls = append(s.r.Calls, dialect.Call{ID: "id " + e.With, Name: e.Do, Arguments: e.With})
	}
	s.r.Finish, s.r.Message = e.Over, record.Raw(data)
	return e.Say, nil
}

func (s *squawk) Complete() bool { return s.r.Finish != "" }

func (s *squawk) Rest() string { return "" }

func (s *squawk) Reply(string) (*dialect.Reply, error) {
	s.r.Model, s.r.Reasoning = "ara "+testKey, testKey
	return &s.r, nil
}

// speaking is a provider of a kind that speaks a dialect, of a server that answers as told.
func speaking(t *testing.T, d dialect.Dialect, answer http.HandlerFunc) Provider {
	t.Helper()
	dialects["parrot"] = d
	t.Cleanup(func() { delete(dialects, "parrot") })
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	return made(t, config.Provider{Kind: "parrot", BaseURL: srv.URL + "/v1", Model: "ara", APIKeyEnv: "K"},
		Options{Getenv: func(string) string { return testKey }})
}

func TestAnotherDialect(t *testing.T) {
	const over = `{"over":"tool_calls"}`
	for name, body := range map[string]string{
		"streamed": "data: {\"say\":\"Pol\"}\n\ndata: {\"say\":\"ly\"}\n\ndata: {\"do\":\"fly\",\"with\":\"{\\\"to\\\": 1}\"}\n\ndata: " + over + "\n\n",
		"whole":    `[{"say":"Pol"},{"say":"ly"},{"do":"fly","with":"{\"to\": 1}"},` + over + `]`,
	} {
		var asked, got, key string
		p := speaking(t, parrot{}, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			asked, got, key = r.URL.Path, string(b),
				r.Header.Get("X-Seed")+r.Header.Get("X-Perch")+r.Header.Get("Authorization")
			io.WriteString(w, body)
		})
		resp, deltas, err := ask(p, true)
		if err != nil || asked != "/v1/squawk" || got != `{"to":"ara","said":["hi"],"pitch":1}` || key != testKey+"3" ||
			p.Kind() != "parrot" {
			t.Fatalf("%s: %s %s, %v", name, asked, got, err)
		}
		if resp.FinalText != "Polly" || deltas != "Polly" || len(resp.ToolCalls) != 1 ||
			string(resp.ToolCalls[0].Args) != `{"to":1}` ||
			resp.FinishReason != "tool_calls" || resp.Original.Dialect != "parrot" || resp.Provider != "web" ||
			resp.RawProviderPayload == nil {
			t.Errorf("%s: %+v %q", name, resp, deltas)
		}
	}
}

// TestADialectNeedNotWithhold: keys that a dialect leaves in its answers are taken out by the transport.
func TestADialectNeedNotWithhold(t *testing.T) {
	for _, escaped := range []string{testKey, strings.ReplaceAll(testKey, "-", `\u002d`)} {
		for name, body := range map[string]string{
			"text": `{"say":"a ` + escaped + `","over":"stop"}`,
			"split": `{"say":"` + testKey[:7] + `"}` + "\n\ndata: " + `{"say":"` + testKey[7:] + `"}` +
				"\n\ndata: " + `{"over":"stop"}`,
			"arguments": `{"do":"fly","with":"{\"a\":\"` + escaped + `\"}","over":"tool_calls"}`,
			"a name":    `{"do":"` + escaped + `","with":"","over":"tool_calls"}`,
			"an error":  "\n\nevent: choke\ndata: {\"error\":\"" + escaped + `"}`,
			"malformed": `{"` + escaped,
		} {
			p := speaking(t, parrot{list: "/birds"}, says(200, "data: "+body+"\n\n"))
			resp, deltas, err := ask(p, true)
			if resp != nil {
				raw, _ := record.Encode(resp)
				deltas += string(raw)
			}
			if err != nil {
				deltas += err.Error()
			}
			if strings.Contains(deltas, testKey) || strings.Contains(deltas, escaped) {
				t.Errorf("%s: %s", name, deltas)
			}
			models, err := Models(context.Background(), p)
			if err != nil || len(models) != 2 || models[0].ID != "ara" || !models[0].Configured ||
				strings.Contains(models[1].ID, testKey) {
				t.Errorf("models %+v, %v", models, err)
			}
		}
	}
}

func TestErrorsOfAnotherDialect(t *testing.T) {
	for _, c := range []struct {
		name, body, code string
		status           int
		tries            int
	}{
		{"busy", `{"error":"no seed"}`, dialect.CodeServer, 503, 3},
		{"refused", `{"error":"pitch is wrong"}`, dialect.CodeBadRequest, 400, 2},
		{"reported", "event: choke\ndata: {\"error\":{\"message\":\"x\",\"code\":401}}\n\n", dialect.CodeAuth, 200, 1},
		{"never over", "data: {\"say\":\"\"}\n\n", dialect.CodeBadResponse, 200, 2},
		{"long", "data: {\"say\":\"" + strings.Repeat("x", 50<<10) + "\"}\n\ndata: {\"say\":\"" +
			strings.Repeat("x", 50<<10) + "\"}\n\n", dialect.CodeTooLarge, 200, 1},
	} {
		tries, left := 0, false
		p := speaking(t, parrot{}, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			tries, left = tries+1, !strings.Contains(string(b), "pitch")
			if left {
				c.body, c.status = `[{"over":"stop"}]`, 200
			}
			says(c.status, c.body)(w, r)
		})
		_, _, err := ask(p, true)
		if (c.name == "refused") != (err == nil && left) || err != nil && code(err) != c.code || tries != c.tries {
			t.Errorf("%s: %v after %d tries", c.name, err, tries)
		}
	}
	if _, err := Models(context.Background(), speaking(t, parrot{}, silent)); code(err) != dialect.CodeConfig {
		t.Errorf("a dialect without a list: %v", err)
	}
	p := speaking(t, parrot{}, says(200, `[{"do":"fly"},{"over":"length"}]`))
	if resp, _, err := ask(p, false); err != nil || len(resp.ToolCalls) != 0 || resp.CallsCut != 1 {
		t.Errorf("a call of an answer that was cut: %+v, %v", resp, err)
	}
}

// TestKindsAreThoseOfTheConfiguration: each kind that may be configured can be made, and no other.
func TestKindsAreThoseOfTheConfiguration(t *testing.T) {
	for _, kind := range config.ProviderKinds() {
		p := made(t, config.Provider{Kind: kind, BaseURL: "http://localhost/v1", Providers: []string{"local"}},
			Options{})
		if _, speaks := dialects[kind]; p.Kind() != kind || speaks != config.IsServer(kind) {
			t.Errorf("%s: %T, a dialect %t", kind, p, speaks)
		}
	}
	for kind := range dialects {
		if !slices.Contains(config.ProviderKinds(), kind) {
			t.Errorf("%s has a dialect, and lib/config/kinds.go does not list it", kind)
		}
	}
}
