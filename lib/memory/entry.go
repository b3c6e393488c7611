package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"clawsh/lib/record"
)

// entryOf makes the entry of a record of a kind that is stored; agent is the one that the record names, if it does.
func entryOf(line record.Line) (e Entry, agent string, err error) {
	f, ok := forms[line.Kind()]
	if !ok {
		return e, "", fmt.Errorf("%s record: %w", line.Kind(), ErrKind)
	}
	if e, agent, err = f.entry(line); err != nil {
		return e, "", fmt.Errorf("%s record %q: %w", line.Kind(), line.ID(), err)
	}
	e.Kind, e.Role = line.Kind(), f.role
	if e.ID == "" {
		e.ID = record.NewID("rec-")
	}
	if e.ConversationID == "" {
		e.ConversationID = Unfiled
	}
	e.TS = timestamp(e.TS)
	return e, agent, nil
}

// output takes a tool result's output out of its content, which is the output, a newline if there is an output, and the
// error. Contents that were written before lack a newline at the beginning if the output began with one.
func (e *Entry) output(r Result) string {
	n := r.OutputBytes
	switch {
	case 0 <= n && n <= len(e.Content) && (r.Error == "" || n == 0 || len(e.Content) == n+1+len(r.Error)):
		return e.Content[:n]
	case 0 < n && len(e.Content) == n+len(r.Error):
		return "\n" + e.Content[:n-1]
	}
	return strings.TrimSuffix(strings.TrimSuffix(e.Content, r.Error), "\n")
}

// tokens are what a response used, for the input or the output; nil for entries that used none.
func (e *Entry) tokens(input bool) any {
	switch {
	case e.usage == nil:
		return nil
	case input:
		return countable(e.usage.InputTokens)
	}
	return countable(e.usage.OutputTokens)
}

// maxCountable bounds the tokens of a response as they are counted, so that no sum of them overflows, which SQLite
// makes an error of: one answer of a strange provider would be the end of all counting. Metadata has what was reported.
const maxCountable = 1 << 40

func countable(n int64) int64 { return min(max(n, 0), maxCountable) }

// timestamp returns ts in record.TimeFormat, so that timestamps sort as text; the current time if ts is no RFC 3339.
func timestamp(ts string) string {
	t, err := time.Parse(time.RFC3339Nano, ts)
	if err != nil {
		return record.Now()
	}
	return t.UTC().Format(record.TimeFormat)
}

// titleOf returns the start of a user message on one line, at most 80 runes.
func titleOf(content string) string {
	const maxRunes = 80
	if len(content) > 8*maxRunes*utf8.UTFMax {
		content = content[:8*maxRunes*utf8.UTFMax]
	}
	return record.Brief(strings.ToValidUTF8(strings.Join(strings.Fields(content), " "), ""), maxRunes)
}
