package conversation

import (
	"slices"

	"clawsh/lib/record"
)

// Budget limits what a model is sent of a conversation, in messages, estimated tokens and bytes. Zero or less means
// no limit. System prompt and tools are not counted.
type Budget struct{ Messages, Tokens, Bytes int }

// size is the size of messages, in the units of a budget.
type size struct{ messages, tokens, bytes int }

func (s size) plus(o size) size {
	return size{s.messages + o.messages, s.tokens + o.tokens, s.bytes + o.bytes}
}

func (s size) minus(o size) size {
	return size{s.messages - o.messages, s.tokens - o.tokens, s.bytes - o.bytes}
}

func sizeOf(messages ...record.Message) size {
	s := size{messages: len(messages)}
	for _, m := range messages {
		s.tokens += Tokens(m)
		s.bytes += Bytes(m)
	}
	return s
}

// holds reports whether a size is within the budget.
func (b Budget) holds(s size) bool {
	return (b.Messages <= 0 || s.messages <= b.Messages) && (b.Tokens <= 0 || s.tokens <= b.Tokens) &&
		(b.Bytes <= 0 || s.bytes <= b.Bytes)
}

// text is the budget for texts alone: shortening them does not reduce the number of messages.
func (b Budget) text() Budget { return Budget{Tokens: b.Tokens, Bytes: b.Bytes} }

// share is three quarters of the budget for texts: the most that the newest turn gets if there are others.
func (b Budget) share() Budget {
	return Budget{Tokens: b.Tokens - b.Tokens/4, Bytes: b.Bytes - b.Bytes/4}
}

// Choose returns what a model is sent: the summary and the newest turns. To stay within the budget it first shortens
// tool results in older turns to head and tail, the oldest first, and then leaves out whole turns, the oldest first.
// The newest turn is always included. Its results are shortened only if it takes more than three quarters of the
// budget, or as the only turn more than all of it. The results of its last two rounds are shortened last and share
// the space, so that what the model has just asked for gets at least half of it; if necessary, they are shortened to
// the line that says how to read them. In the end, remaining space is used to restore results, the newest first.
//
// The result is within the budget unless only the newest turn is left, with all of its results shortened. Choose does
// not change the given turns.
func (c Conversation) Choose(b Budget) Conversation {
	out := Conversation{Summary: c.Summary}
	ch := chooser{budget: b}
	if c.Summary != "" {
		ch.used = sizeOf(SummaryMessage(c.Summary))
	}
	for i := len(c.Turns) - 1; i >= 0; i-- {
		t := c.Turns[i]
		t.Messages = Complete(t.Messages)
		if len(t.Messages) == 0 {
			continue
		}
		if len(out.Turns) == 0 {
			ch.newest(t.Messages, i > 0)
		} else if !ch.older(t.Messages) {
			break
		}
		out.Turns = append(out.Turns, t)
	}
	ch.restore()
	slices.Reverse(out.Turns)
	return out
}

// cut is a shortened tool result: its position and the original.
type cut struct {
	at    *record.Message
	whole record.Message
}

// chooser spends a budget, from the newest message to the oldest.
type chooser struct {
	budget Budget
	used   size
	cuts   []cut // the newest result first
}

// newest takes the newest turn, which is always included.
func (ch *chooser) newest(messages []record.Message, others bool) {
	most := ch.budget.text()
	if others {
		most = ch.budget.share()
	}
	whole := slices.Clone(messages)
	ch.used = ch.used.plus(sizeOf(messages...))
	before, _ := rounds(messages)
	for i := 0; i < before && !most.holds(ch.used); i++ {
		ch.shorten(&messages[i], whole[i], keptBytes)
	}
	if !most.holds(ch.used) {
		ch.share(messages, whole, most)
	}
	for _, level := range []struct {
		budget Budget
		bytes  int
	}{{most, keptBytes}, {ch.budget.text(), noneBytes}} {
		for i := range messages {
			if !level.budget.holds(ch.used) {
				ch.shorten(&messages[i], whole[i], level.bytes)
			}
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Content != whole[i].Content {
			ch.cuts = append(ch.cuts, cut{&messages[i], whole[i]})
		}
	}
}

// older takes a turn before the newest, with its results shortened, if there is space for it.
func (ch *chooser) older(messages []record.Message) bool {
	before := *ch
	ch.used = ch.used.plus(sizeOf(messages...))
	for i := len(messages) - 1; i >= 0; i-- {
		if whole := messages[i]; ch.shorten(&messages[i], whole, keptBytes) {
			ch.cuts = append(ch.cuts, cut{&messages[i], whole})
		}
	}
	if !ch.budget.holds(ch.used) {
		*ch = before
		return false
	}
	return true
}

// shorten replaces a message by its shortened form, if it is a tool result and gets shorter.
func (ch *chooser) shorten(m *record.Message, whole record.Message, most int) bool {
	if m.Role != "tool" {
		return false
	}
	short := Shorten(whole, most)
	if Tokens(short) >= Tokens(*m) || len(short.Content) >= len(m.Content) {
		return false
	}
	ch.used = ch.used.minus(sizeOf(*m)).plus(sizeOf(short))
	*m = short
	return true
}

// restore restores shortened results while there is space.
func (ch *chooser) restore() {
	for _, c := range ch.cuts {
		used := ch.used.minus(sizeOf(*c.at)).plus(sizeOf(c.whole))
		if ch.budget.text().holds(used) {
			*c.at, ch.used = c.whole, used
		}
	}
}
