package conversation

import (
	"slices"

	"clawsh/lib/record"
)

// Budget bounds what a model is sent of a conversation, in messages, estimated tokens and bytes. Zero or less means no bound.
// System prompt and tools are not counted.
type Budget struct{ Messages, Tokens, Bytes int }

// size is what a budget is spent on.
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

// holds tells whether so much is within the budget.
func (b Budget) holds(s size) bool {
	return (b.Messages <= 0 || s.messages <= b.Messages) && (b.Tokens <= 0 || s.tokens <= b.Tokens) && (b.Bytes <= 0 || s.bytes <= b.Bytes)
}

// text is the budget for texts alone: to shorten one does not make the messages fewer.
func (b Budget) text() Budget { return Budget{Tokens: b.Tokens, Bytes: b.Bytes} }

// share is three quarters of the budget for texts: what the newest turn may take while there are others.
func (b Budget) share() Budget {
	return Budget{Tokens: b.Tokens - b.Tokens/4, Bytes: b.Bytes - b.Bytes/4}
}

// Choose returns what a model is sent: the summary, and of the turns the newest. What is over the budget goes in this order:
// results of tools in the older turns are shortened to head and tail, the oldest first; then the oldest turns are left out,
// whole. The newest turn is always there. Its results are shortened only where it takes more than three quarters of the budget,
// with others before it, or the whole, alone: those of its last two rounds last, which share the room, so that what the model has
// just asked for has half of it at least; then to nothing but the line that says how to see them, if need be. Room that is left in
// the end makes results whole again, the newest first.
//
// The result is within the budget unless only the newest turn is left, all of its results shortened. The turns that were given
// are not changed.
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

// cut is a tool result that was shortened: where it stands, and what stood there.
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

// newest takes the newest turn, which is always in.
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

// older takes a turn before the newest, its results shortened, if there is room for that.
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

// shorten puts a shortened form of the whole message in its place, if it is a tool result and gets shorter by that.
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

// restore makes results whole again where there is room.
func (ch *chooser) restore() {
	for _, c := range ch.cuts {
		used := ch.used.minus(sizeOf(*c.at)).plus(sizeOf(c.whole))
		if ch.budget.text().holds(used) {
			*c.at, ch.used = c.whole, used
		}
	}
}
