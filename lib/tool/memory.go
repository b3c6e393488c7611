package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
)

const (
	defaultHits     = 5
	maxQueryBytes   = 1000
	maxFilterBytes  = 200
	maxSnippetRunes = 300
)

// searchMemory searches past conversations. It reads nothing itself: it runs claw-mem.
func searchMemory(ctx context.Context, a card.MemoryArgs, env *Env) Result {
	if err := checkQuery(a); err != nil {
		return failf("search memory: %v", err)
	}
	most := defaultHits
	if a.Limit != nil {
		most = *a.Limit
	}
	hits, err := askMemory(ctx, a, most, env)
	if err != nil {
		return failf("search memory: %v", err)
	}
	r := Result{Success: true}
	r.setFound(hitsText(hits, most), env)
	return r
}

// checkQuery says what claw-mem cannot be asked.
func checkQuery(a card.MemoryArgs) error {
	if strings.TrimSpace(a.Query) == "" || len(a.Query) > maxQueryBytes || strings.ContainsRune(a.Query, 0) {
		return fmt.Errorf("want a query of 1 to %d bytes without NUL", maxQueryBytes)
	}
	for _, f := range filters(a) {
		if len(f[1]) > maxFilterBytes || strings.ContainsRune(f[1], 0) {
			return fmt.Errorf("want a %s of at most %d bytes without NUL", f[0], maxFilterBytes)
		}
	}
	return nil
}

// filters are the names of claw-mem's flags with their values.
func filters(a card.MemoryArgs) [][2]string {
	return [][2]string{{"role", a.Role}, {"tool", a.Tool}, {"since", a.Since}, {"until", a.Until},
		{"conversation", a.ConversationID}}
}

// memoryWords are the words after claw-mem's name. A value is one word with its flag, so that none can be taken for a
// flag of its own.
func memoryWords(a card.MemoryArgs, most int) []string {
	words := []string{"search", fmt.Sprintf("--limit=%d", most)}
	for _, f := range filters(a) {
		if f[1] != "" {
			words = append(words, "--"+f[0]+"="+f[1])
		}
	}
	return append(words, "--", a.Query)
}

type memoryHit struct {
	ConversationID string `json:"conversation_id"`
	TS             string `json:"ts"`
	Role           string `json:"role"`
	Snippet        string `json:"snippet"`
}

func askMemory(ctx context.Context, a card.MemoryArgs, most int, env *Env) ([]memoryHit, error) {
	var found struct {
		Hits []memoryHit `json:"hits"`
	}
	err := sibling.New(env.Config, env.SelfEnv, nil).Query(ctx, &found, "claw-mem", memoryWords(a, most)...)
	var failed *envelope.Error
	switch {
	case errors.As(err, &failed) && failed.Code == "not_found":
		return nil, nil
	case failed != nil:
		return nil, fmt.Errorf("claw-mem: %w", err)
	}
	return found.Hits, err
}

func hitsText(hits []memoryHit, most int) string {
	if len(hits) == 0 {
		return "nothing found\n"
	}
	var b strings.Builder
	for _, h := range hits[:min(most, len(hits))] {
		text := record.Brief(strings.Join(strings.Fields(h.Snippet), " "), maxSnippetRunes+1)
		fmt.Fprintf(&b, "%s %s %s: %s\n", h.TS, h.ConversationID, h.Role, text)
	}
	return b.String()
}
