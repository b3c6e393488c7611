package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestBill: rows are counted by what was asked for, and what has no price is said to have none.
func TestBill(t *testing.T) {
	s := openTemp(t)
	used := func(id, turn, provider, model string, tokens int) {
		put(t, s, "response", id, "conv-1", turn, fmt.Sprintf(`"final_text":"a","tool_calls":[],"provider":%q,`+
			`"model":"%s","usage":{"input_tokens":%d,"output_tokens":1}`, provider, model, tokens))
	}
	used("r1", "t1", "p", "cheap", 10)
	used("r2", "t1", "p", "dear", 20)
	used("r3", "t2", "q", `\u001b[2Jx`, 40)
	price := func(provider, model string, in, out int64) (float64, bool) {
		return float64(in) + float64(out), provider == "p"
	}
	for by, want := range map[string][]string{
		"turn":         {"conv-1 t1|32.000000", "conv-1 t2|-", "total|32.000000, without 1 response"},
		"conversation": {"conv-1|32.000000, without 1 response", "total|32.000000, without 1 response"},
		"provider":     {"p|32.000000", "q|-", "total|32.000000, without 1 response"},
		"model":        {"p cheap|11.000000", "p dear|21.000000", `q \x1b[2Jx|-`, "total|32.000000, without 1 response"},
	} {
		bill, err := s.Bill(UsageOptions{By: by}, "EUR", price)
		if err != nil || bill.By != by || bill.Total.InputTokens != 70 || bill.Total.Responses != 3 {
			t.Errorf("by %s: %+v, %v", by, bill, err)
		}
		var b strings.Builder
		if err := bill.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			f := slices.DeleteFunc(strings.Split(strings.TrimSpace(line), "  "), func(s string) bool { return s == "" })
			got = append(got, strings.TrimSpace(f[0])+"|"+strings.TrimSpace(f[len(f)-1]))
		}
		if head := by + "|cost (EUR)"; !slices.Equal(got, append([]string{head}, want...)) {
			t.Errorf("by %s: %q, want %q", by, got, want)
		}
	}
	if _, err := s.Bill(UsageOptions{By: "moon"}, "EUR", price); err == nil {
		t.Error("usage is counted by anything")
	}
}
