package tool

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

const (
	defaultHits     = 5
	maxHits         = 20
	maxQueryBytes   = 1000
	maxFilterBytes  = 200
	maxSnippetRunes = 300
)

// memoryTool searches past conversations. It reads nothing itself: it runs claw-mem.
type memoryTool struct{}

// Name implements Tool.
func (memoryTool) Name() string { return "memory_search" }

// Description implements Tool.
func (memoryTool) Description() string {
	return `Search past conversations: words "a phrase" prefix* -without a OR b`
}

// Parameters implements Tool.
func (memoryTool) Parameters() record.Raw {
	return record.Raw(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":20},` +
		`"role":{"type":"string","enum":["user","assistant","tool"]},"tool":{"type":"string"},"conversation_id":{"type":"string"},` +
		`"since":{"type":"string","description":"date or age: 7d"},"until":{"type":"string"}},` +
		`"required":["query"],"additionalProperties":false}`)
}

// searchArgs are the arguments of a call.
type searchArgs struct {
	Query          string `json:"query"`
	Limit          *int   `json:"limit"`
	Role           string `json:"role"`
	Tool           string `json:"tool"`
	Since          string `json:"since"`
	Until          string `json:"until"`
	ConversationID string `json:"conversation_id"`
}

// check fills in what is missing and says what claw-mem cannot be asked.
func (a *searchArgs) check() error {
	most := defaultHits
	if a.Limit != nil {
		most = *a.Limit
	}
	a.Limit = &most
	if most < 1 || most > maxHits {
		return fmt.Errorf("invalid arguments: want limit from 1 to %d", maxHits)
	}
	if strings.TrimSpace(a.Query) == "" || len(a.Query) > maxQueryBytes || strings.ContainsRune(a.Query, 0) {
		return fmt.Errorf("search memory: want a query of 1 to %d bytes without NUL", maxQueryBytes)
	}
	for _, f := range a.filters() {
		if len(f[1]) > maxFilterBytes || strings.ContainsRune(f[1], 0) {
			return fmt.Errorf("search memory: want a %s of at most %d bytes without NUL", f[0], maxFilterBytes)
		}
	}
	return nil
}

// filters are the names of claw-mem's flags with their values.
func (a *searchArgs) filters() [][2]string {
	return [][2]string{{"role", a.Role}, {"tool", a.Tool}, {"since", a.Since}, {"until", a.Until}, {"conversation", a.ConversationID}}
}

// argv is the command line of claw-mem. A value is one word with its flag, so that none can be taken for a flag of its own.
func (a *searchArgs) argv(path string) []string {
	argv := []string{path, "search", "--output-format", "json", fmt.Sprintf("--limit=%d", *a.Limit)}
	for _, f := range a.filters() {
		if f[1] != "" {
			argv = append(argv, "--"+f[0]+"="+f[1])
		}
	}
	return append(argv, "--", a.Query)
}

// Invoke implements Tool.
func (memoryTool) Invoke(ctx context.Context, args record.Raw, env *Env) Result {
	var a searchArgs
	if err := decode(args, &a); err != nil {
		return failf("%v", err)
	}
	if err := a.check(); err != nil {
		return failf("%v", err)
	}
	hits, err := searchMemory(ctx, &a, env)
	if err != nil {
		return failf("search memory: %v", err)
	}
	r := Result{Success: true}
	r.setFound(hitsText(hits, *a.Limit), env)
	return r
}

type memoryHit struct {
	ConversationID string `json:"conversation_id"`
	TS             string `json:"ts"`
	Role           string `json:"role"`
	Snippet        string `json:"snippet"`
}

func searchMemory(ctx context.Context, a *searchArgs, env *Env) ([]memoryHit, error) {
	path, err := process.Find("claw-mem")
	if err != nil {
		return nil, err
	}
	out := &limitedBuffer{limit: 4 << 20}
	code, err := process.RunTree(ctx, process.TreeSpec{
		Argv: a.argv(path), Dir: "/", Env: process.Environment(env.SelfEnv, config.PathEnv(env.Config, nil)...), Stdout: out})
	if err != nil {
		return nil, err
	}
	if out.full {
		return nil, fmt.Errorf("claw-mem wrote more than %d bytes", out.limit)
	}
	reply, err := envelope.Decode(out.buf.Bytes())
	switch {
	case err == nil && reply.Failed != nil && reply.Failed.Code == "not_found":
		return nil, nil
	case err == nil && reply.Failed != nil:
		return nil, fmt.Errorf("claw-mem: %w", reply.Failed)
	case code != 0:
		return nil, fmt.Errorf("claw-mem ended with exit status %d", code)
	case err != nil:
		return nil, fmt.Errorf("read the answer of claw-mem: %w", err)
	}
	var found struct {
		Hits []memoryHit `json:"hits"`
	}
	err = record.DecodeOpen(reply.Data, &found)
	return found.Hits, err
}

func hitsText(hits []memoryHit, most int) string {
	if len(hits) == 0 {
		return "nothing found\n"
	}
	var b strings.Builder
	for _, h := range hits[:min(most, len(hits))] {
		text := []rune(strings.Join(strings.Fields(h.Snippet), " "))
		if len(text) > maxSnippetRunes {
			text = append(text[:maxSnippetRunes], '…')
		}
		fmt.Fprintf(&b, "%s %s %s: %s\n", h.TS, h.ConversationID, h.Role, string(text))
	}
	return b.String()
}

// limitedBuffer keeps up to limit bytes and throws the rest away.
type limitedBuffer struct {
	buf   bytes.Buffer
	limit int
	full  bool
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.limit - b.buf.Len(); len(p) > room {
		b.full = true
		b.buf.Write(p[:room])
		return len(p), nil
	}
	return b.buf.Write(p)
}
