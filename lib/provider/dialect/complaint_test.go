package dialect

import (
	"testing"
)

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		status int
		words  string
		want   string
	}{
		{400, "does not support tools", CodeNoTools},
		{400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model", CodeBadRequest},
		{400, "tool_choice is not supported", CodeBadRequest},
		{404, "no endpoints found that support tool use", CodeNoTools},
		{500, "tools param requires --jinja flag", CodeNoTools},
		{400, "'temperature' does not support 0.2 with this model", CodeBadRequest},
		{400, "invalid model id", CodeNotFound}, {404, "page not found", CodeBadRequest},
		{404, "The model x does not exist", CodeNotFound}, {500, "model not loaded", CodeServer},
		{400, "prompt is too long: 9 tokens > 8 maximum", CodeTooLong},
		{500, "the request exceeds the available context size", CodeTooLong}, {429, "context length", CodeRateLimit},
		{429, "insufficient_quota", CodeQuota},
		{429, "exceeded your current quota, retry in 3s", CodeRateLimit}, {403, "credit balance is too low", CodeQuota},
		{401, "insufficient_quota", CodeAuth}, {408, "", CodeTimeout},
		{529, "overloaded", CodeServer}, {0, "rate_limit exceeded", CodeRateLimit},
		{0, "authentication failed", CodeAuth}, {0, "boom", CodeServer}, {413, "", CodeTooLong},
		{501, "no", CodeBadRequest},
	} {
		if got := codeOf(c.status, Complaint{Text: c.words}); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.words, got, c.want)
		}
	}
}
