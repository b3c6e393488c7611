package chat

import (
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// thinkTags are the tags between which some models write what they think, at the beginning of the answer.
var thinkTags = []string{"think", "thinking", "thought"}

// maxHeldBytes bounds the white space after which a tag is still one at the beginning.
const maxHeldBytes = 4096

// thinker separates what a model thinks, in tags at the beginning of its text, from the answer.
type thinker struct {
	held    string // not decided yet
	end     string // the tag that ends the thought, if one is open
	decided bool   // the answer has begun
	began   bool   // a thought was there
	thought strings.Builder
}

// next takes a piece of text and returns what is known to be answer.
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

// opening tells which tag a text begins with, and whether it may still become one.
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

// close ends the thought where its end has come. Of the rest as much stays as may be the beginning of the end.
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

// rest ends the text, and returns what is left of the answer. A thought without an end has no answer behind it.
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
