package loop

import (
	"fmt"
	"strings"
	"testing"

	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

func TestExitCode(t *testing.T) {
	denied := func(rule, approval string) []record.Denial { return []record.Denial{{Rule: rule, Approval: approval}} }
	for _, c := range []struct {
		stop    string
		denials []record.Denial
		want    int
	}{
		{record.StopFinalText, nil, 0}, {record.StopFinalText, denied("path.outside", "not_required"), 77},
		{record.StopFinalText, denied("path.workspace", "unavailable"), 77},
		{record.StopFinalText, denied("path.workspace", "refused"), 0},
		{record.StopFinalText, denied("args.invalid", "not_required"), 0},
		{record.StopFinalText, append(denied("args.invalid", "not_required"), denied("estop", "not_required")...), 77},
		{record.StopMaxToolRounds, nil, 2}, {record.StopMaxTokens, nil, 2}, {record.StopMaxCost, nil, 2},
		{record.StopTimeout, nil, 2}, {record.StopCancelled, nil, 130}, {record.StopProviderError, nil, 69},
		{record.StopStageError, nil, 1}, {"", nil, 1},
	} {
		if got := ExitCode(record.Final{StopReason: c.stop, Denials: c.denials}); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.stop, c.denials, got, c.want)
		}
	}
}

// Whoever denied a call, the rule names it: the gate, claw-exec, or the emergency stop at any moment.
func TestDenialNamesWhatDenied(t *testing.T) {
	yes := &record.Verdict{Decision: record.Allow, Rule: "command.harmless", Reason: "reads", Approval: "granted"}
	no := &record.Verdict{Decision: record.Deny, Rule: "path.outside", Reason: "outside", Approval: "unavailable"}
	early := &record.Verdict{Decision: record.Deny, Rule: "estop", Reason: "emergency stop: on"}
	for _, c := range []struct {
		status, halted string
		verdict        *record.Verdict
		rule, reason   string
	}{
		{record.StatusAllowed, "", yes, "", ""}, {record.StatusFailed, "", yes, "", ""},
		{record.StatusFailed, "interrupted", yes, "", ""},
		{record.StatusFailed, stopped, yes, "estop", "the emergency stop ended it while it ran"},
		{record.StatusAllowed, stopped, yes, "estop", "the emergency stop ended it while it ran"},
		{record.StatusDenied, "", no, "path.outside", "outside"},
		{record.StatusDenied, "", early, "estop", "emergency stop: on"},
		{record.StatusDenied, "", yes, "exec.refused", "error"}, {record.StatusDenied, stopped, yes, "estop", "error"},
		{record.StatusDenied, stopped, no, "path.outside", "outside"}, {record.StatusDenied, "", nil, "", "error"},
	} {
		r := record.ToolResult{Status: c.status, Error: "error", Verdict: c.verdict,
			Metadata: record.ResultMeta{CancelledReason: c.halted}}
		d, ok := denial(r)
		if want := c.reason != ""; ok != want || ok &&
			(d.Rule != c.rule || d.Reason != c.reason || c.verdict != nil && d.Approval != c.verdict.Approval) {
			t.Errorf("%+v: %+v, %v", c, d, ok)
		}
	}
}

// turns makes turns of about so many tokens each.
func turns(tokens ...int) []conversation.Turn {
	var out []conversation.Turn
	for i, n := range tokens {
		out = append(out, conversation.Turn{ID: fmt.Sprint("turn-", i),
			Messages: []record.Message{{Role: "user", Content: strings.Repeat("four", n-8)}}})
	}
	return out
}

// A summary never stands for the newest turn, nor for small ones before it, and always for the oldest.
func TestFallen(t *testing.T) {
	for _, c := range []struct {
		tokens []int
		small  int
		want   int
	}{{nil, 100, 0}, {[]int{1000}, 100, 0}, {[]int{1000, 1000}, 100, 1}, {[]int{1000, 20, 20, 20}, 100, 1},
		{[]int{1000, 20, 20, 900}, 100, 3}, {[]int{20, 20, 20, 20, 20}, 70, 2},
		{[]int{20, 20}, 100, 0}, {[]int{20, 20, 20}, 0, 2}} {
		if got := len(fallen(turns(c.tokens...), c.small)); got != c.want {
			t.Errorf("%v with %d for small ones: %d fall out, want %d", c.tokens, c.small, got, c.want)
		}
	}
}

// A summary that is empty, or longer than what it is to stand for, is none.
func TestAcceptableSummaries(t *testing.T) {
	text := func(tokens int) string { return strings.Repeat("four", tokens) }
	for _, c := range []struct {
		old, budget, summary int
		code                 string
	}{{50, 0, 900, ""}, {50, 0, 1001, "compact.too_long"}, {10_000, 0, 4900, ""}, {10_000, 0, 5100, "compact.too_long"},
		{10_000, 4000, 2001, "compact.too_long"},
		{10_000, 4000, 2000, ""}, {10_000, 0, 0, "compact.empty"}} {
		l := New(Options{Budget: conversation.Budget{Tokens: c.budget}})
		code := ""
		if err := l.acceptable(text(c.summary), turns(c.old)); err != nil {
			code = envelope.From(err).Code
		}
		if code != c.code {
			t.Errorf("%+v: %q", c, code)
		}
	}
}

// A limit is reached by what is used, not passed: the request that would follow is not made.
func TestLimited(t *testing.T) {
	price := func(provider, model string, u record.Usage) (float64, bool) {
		return float64(u.InputTokens) / 10, model == "priced"
	}
	use := func(model string, in, out int64) record.Response {
		return record.Response{Model: model, FinalText: "four", Usage: record.Usage{InputTokens: in, OutputTokens: out}}
	}
	for name, c := range map[string]struct {
		tokens    int64
		cost      float64
		responses []record.Response
		want      string
	}{
		"none":                      {0, 0, []record.Response{use("priced", 1<<40, 1)}, ""},
		"nothing used":              {10, 1, nil, ""},
		"below":                     {10, 0, []record.Response{use("priced", 5, 4)}, ""},
		"reached":                   {10, 0, []record.Response{use("priced", 5, 5)}, "max_tokens"},
		"reached by the sum":        {10, 0, []record.Response{use("priced", 3, 3), use("priced", 3, 3)}, "max_tokens"},
		"cost below":                {0, 1, []record.Response{use("priced", 9, 900)}, ""},
		"cost reached":              {0, 1, []record.Response{use("priced", 10, 0)}, "max_cost"},
		"of unknown cost":           {0, 1, []record.Response{use("strange", 1, 1)}, "max_cost"},
		"of unknown cost, no limit": {10, 0, []record.Response{use("strange", 1, 1)}, ""},
		"nothing reported":          {10, 0, []record.Response{use("priced", 0, 0), use("priced", 0, 0)}, "max_tokens"},
	} {
		tn := &turn{Loop: New(Options{MaxTokens: c.tokens, MaxCost: c.cost, Price: price})}
		for _, r := range c.responses {
			tn.spend(&record.Request{}, &r)
		}
		if got := tn.limited(); got != (c.want != "") || tn.final.StopReason != c.want || c.want != "" &&
			ExitCode(tn.final) != envelope.ExitLimit {
			t.Errorf("%s: %t, %q", name, got, tn.final.StopReason)
		}
	}
}

// The calls of a turn that ends by a limit are answered, so that the conversation can go on.
func TestRefusedCallsAreAnswered(t *testing.T) {
	for _, stop := range []string{record.StopMaxToolRounds, record.StopMaxTokens, record.StopMaxCost} {
		tn := &turn{Loop: New(Options{Conversation: conversation.Conversation{Turns: turns(20)}})}
		tn.final.StopReason = stop
		calls := []record.CallPart{{ID: "call-1"}, {ID: "call-2"}}
		tn.say(record.Message{Role: "assistant", ToolCalls: calls})
		tn.refuse(calls)
		got := tn.history.Messages()
		if len(got) != 4 || got[3].ToolCallID != "call-2" || !got[3].IsError ||
			!strings.HasPrefix(got[3].Content, "not run: ") || strings.HasSuffix(got[3].Content, " ") {
			t.Errorf("%s: %+v", stop, got)
		}
	}
}

// An error of the tool chain is none of the provider's: the turn ends with exit code 1, an error of the provider by
// whose fault it is.
func TestReportedErrors(t *testing.T) {
	for code, exit := range map[string]int{"verdict.smuggled": envelope.ExitError,
		"provider.server": envelope.ExitProvider, "provider.quota": envelope.ExitProvider,
		"provider.bad_request": envelope.ExitError, "provider.not_found": envelope.ExitError,
		"provider.too_long": envelope.ExitLimit, "provider.config": envelope.ExitConfig} {
		line, err := record.Parse([]byte(`{"v":1,"kind":"error","stage":"x","code":"` + code +
			`","message":"m","retryable":false}`))
		if err != nil {
			t.Fatal(err)
		}
		if e := envelope.From(reported(line)); e.ExitCode() != exit || e.Code != code {
			t.Errorf("%+v", e)
		}
	}
}
