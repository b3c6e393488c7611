package loop

import (
	"fmt"
	"strconv"

	"clawsh/lib/conversation"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// spending is what a turn has used so far. A response without usage is estimated, so that a limit works even if the
// provider does not count.
type spending struct {
	usage    record.Usage
	cost     float64
	unpriced string // a model that answered and has no price
}

// spend adds the usage of a response to the final record and to the turn's spending.
func (t *turn) spend(req *record.Request, resp *record.Response) {
	t.final.Usage = t.final.Usage.Add(resp.Usage)
	u := resp.Usage
	if u == (record.Usage{}) {
		u = estimate(req, resp)
	}
	t.spent.usage = t.spent.usage.Add(u)
	if t.MaxCost <= 0 {
		return
	}
	cost, known := 0.0, false
	if t.Price != nil {
		cost, known = t.Price(resp.Provider, resp.Model, u)
	}
	if !known {
		t.spent.unpriced = resp.Model
	}
	t.spent.cost += cost
}

func estimate(req *record.Request, resp *record.Response) record.Usage {
	in := conversation.TextTokens(req.SystemPrompt)
	for _, m := range req.Messages {
		in += conversation.Tokens(m)
	}
	for _, tool := range req.Tools {
		in += conversation.TextTokens(tool.Description) + conversation.TextTokens(string(tool.Parameters))
	}
	out := conversation.Tokens(record.Message{Content: resp.FinalText, ToolCalls: resp.ToolCalls})
	return record.Usage{InputTokens: int64(in), OutputTokens: int64(out)}
}

// limited reports whether the turn has reached a limit and may not ask the model again, and says so in the final
// record.
func (t *turn) limited() bool {
	switch {
	case t.MaxTokens > 0 && t.spent.usage.Total() >= t.MaxTokens:
		t.final.StopReason = record.StopMaxTokens
		t.final.Error = fmt.Sprintf("no final answer within %s: %d are used", spelling.Count(t.MaxTokens, "token"),
			t.spent.usage.Total())
		t.final.ErrorCode = "limit.max_tokens"
		t.final.Hint = "raise limits.max_tokens, or use --max-tokens for one turn"
	case t.MaxCost > 0 && t.spent.unpriced != "":
		t.final.StopReason = record.StopMaxCost
		t.final.Error = fmt.Sprintf("the turn has a cost limit, but %q answered, and its price is not configured",
			t.spent.unpriced)
		t.final.ErrorCode = "limit.max_cost"
		t.final.Hint = "add its price to [[usage.prices]] in the configuration"
	case t.MaxCost > 0 && t.spent.cost >= t.MaxCost:
		t.final.StopReason = record.StopMaxCost
		t.final.Error = fmt.Sprintf("no final answer within a cost of %s (spent %s)", amount(t.MaxCost),
			amount(t.spent.cost))
		t.final.ErrorCode = "limit.max_cost"
		t.final.Hint = "raise limits.max_cost, or use --max-cost for one turn"
	default:
		return false
	}
	return true
}

// exhausted reports whether the turn has used up its rounds of tools, and says so in the final record.
func (t *turn) exhausted() bool {
	if t.final.Rounds < t.MaxToolRounds {
		return false
	}
	t.final.StopReason = record.StopMaxToolRounds
	t.final.Error = fmt.Sprintf("no final answer after %s of tool calls", spelling.Count(t.final.Rounds, "round"))
	t.final.ErrorCode = "limit.max_tool_rounds"
	t.final.Hint = "raise limits.max_tool_rounds, or use --max-tool-rounds for one turn"
	return true
}

// refuse answers the calls of a turn that has reached a limit.
func (t *turn) refuse(calls []record.CallPart) {
	for _, c := range calls {
		t.say(record.Message{Role: "tool", ToolCallID: c.ID, IsError: true,
			Content: conversation.NotRun(t.final.StopReason)})
	}
}

// amount formats an amount of money without an exponent.
func amount(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
