package policy

import (
	"testing"

	"clawsh/lib/card"
	"clawsh/lib/record"
)

// TestCardsDecide: a call has the risk of its card, or of the arguments that have a role; what a tool from elsewhere
// says about itself does not lower it.
func TestCardsDecide(t *testing.T) {
	p := policyIn(t, "supervised", nil)
	type copied struct {
		From string `json:"from" role:"read" arg:"required"`
		To   string `json:"to" role:"write"`
	}
	type strange struct {
		X string `json:"x" role:"invented"`
	}
	for _, c := range []struct {
		card       card.Card
		args       string
		risk, rule string
		blocked    bool
	}{
		{card.Card{Risk: "low", Args: struct{}{}}, `{}`, "low", "tool.low", false},
		{card.Card{Risk: "high", Args: struct{}{}}, `{}`, "high", "tool.high", false},
		{card.Card{Risk: "low", Args: struct{}{}}, `{"x":1}`, "high", "args.invalid", true},
		{card.Card{Risk: "low", Origin: "mcp:x", Args: struct{}{}}, `{}`, "medium", "tool.medium", false},
		{card.Card{Risk: "high", Origin: "mcp:x", Args: struct{}{}}, `{}`, "high", "tool.high", false},
		{card.Card{Risk: "low", Args: copied{}}, `{"from":"a.txt","to":"b.txt"}`, "medium", "path.workspace", false},
		{card.Card{Risk: "low", Args: copied{}}, `{"from":"a.txt","to":"/etc/x"}`, "high", "path.forbidden", true},
		{card.Card{Risk: "low", Args: copied{}}, `{"from":"/etc/x","to":"b.txt"}`, "high", "path.forbidden", true},
		{card.Card{Risk: "low", Args: copied{}}, `{"from":"out/x","to":"b.txt"}`, "high", "path.outside", true},
		{card.Card{Risk: "low", Origin: "mcp:x", Args: copied{}}, `{"from":"/etc/x"}`, "high", "path.forbidden", true},
		{card.Card{Risk: "low", Args: strange{}}, `{"x":"y"}`, "high", "tool.not_allowed", true},
	} {
		if c.card.Origin == "" {
			c.card.Origin = card.Builtin
		}
		f := p.examine(t.Context(), c.card, record.Raw(c.args))
		if f.risk != c.risk || f.rule != c.rule || f.blocked != c.blocked {
			t.Errorf("%+v %s: %+v", c.card, c.args, f)
		}
	}
}
