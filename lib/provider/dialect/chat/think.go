package chat

import (
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// thinkTags are the tags around the reasoning that some models write at the beginning of the answer.
var thinkTags = []string{"think", "thinking", "thought"}

// maxHeldBytes limits the white space before a tag at the beginning.
const maxHeldBytes = 4096

// thinker separates reasoning in tags at the beginning of a text from the answer.
type thinker struct {
	held    string // not decided yet
	end     string // the tag that ends the thought, if one is open
	decided bool   // the answer has begun
	began   bool   // a thought was there
	thought strings.Builder
}

// next takes a piece of text and returns what is certainly part of the answer.
func (t *thinker) next(s string) string {
	if t.decided {
		return s
	}
	t.held += s
	for {
		if t.end != "" {
			if !t.close() {
				return ""
			}
			continue
		}
		open, maybe := opening(strings.TrimLeft(t.held, " \t\r\n"))
		if open != "" {
			_, t.held, _ = strings.Cut(t.held, "<"+open+">")
			t.end, t.began = "</"+open+">", true
			continue
		}
		if maybe && len(t.held) < maxHeldBytes {
			return ""
		}
		t.decided = true
		return t.rest()
	}
}

// opening returns the tag that a text begins with, and whether it may still become one.
func opening(text string) (tag string, maybe bool) {
	for _, name := range thinkTags {
		open := "<" + name + ">"
		if strings.HasPrefix(text, open) {
			return name, false
		}
		maybe = maybe || strings.HasPrefix(open, text)
	}
	return "", maybe
}

// close ends the reasoning if its end has arrived. Of the rest it keeps what may be the beginning of the end tag.
func (t *thinker) close() bool {
	before, after, found := strings.Cut(t.held, t.end)
	if !found {
		keep := min(len(t.held), len(t.end)-1)
		before, after = t.held[:len(t.held)-keep], t.held[len(t.held)-keep:]
	} else {
		t.end = ""
	}
	t.think(before)
	t.held = after
	return found
}

func (t *thinker) think(s string) {
	if room := dialect.MaxReasoningBytes - t.thought.Len(); room > 0 {
		t.thought.WriteString(record.Cut(s, room))
	}
}

// rest ends the text, and returns the rest of the answer. Reasoning without an end tag is not followed by an answer.
func (t *thinker) rest() string {
	out := t.held
	t.held = ""
	switch {
	case t.end != "":
		t.think(out)
		return ""
	case t.began:
		return strings.TrimLeft(out, " \t\r\n")
	}
	return out
}
