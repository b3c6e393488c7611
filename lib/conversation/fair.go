package conversation

import (
	"slices"

	"clawsh/lib/record"
)

// noteTokens is space for the note in a shortened result.
const noteTokens = 64

// rounds returns where the last two rounds of calls of a turn begin, or 0.
func rounds(messages []record.Message) (before, last int) {
	for i, m := range messages {
		if len(m.ToolCalls) > 0 {
			before, last = last, i
		}
	}
	return before, last
}

// share divides the budget between the results of the last two rounds: what the model has just asked for gets at
// least half of the space, and the round before gets the rest. Within a round, small results stay whole, and large
// ones get equal shares.
func (ch *chooser) share(messages, whole []record.Message, most Budget) {
	before, last := rounds(messages)
	for _, by := range []struct {
		limit, used int
		size        func(record.Message) int
	}{{most.Tokens, ch.used.tokens, Tokens}, {most.Bytes, ch.used.bytes, Bytes}} {
		if by.limit <= 0 || by.used <= by.limit {
			continue
		}
		older, newer := sizes(messages[before:last], by.size), sizes(messages[last:], by.size)
		room := max(by.limit-(by.used-sum(older)-sum(newer)), 0)
		mine := min(sum(newer), max(room/2, room-sum(older)))
		ch.level(messages[last:], whole[last:], fill(newer, mine), by.size)
		ch.level(messages[before:last], whole[before:last], fill(older, room-mine), by.size)
	}
}

// level shortens the results that are longer than most bytes.
func (ch *chooser) level(messages, whole []record.Message, most int, size func(record.Message) int) {
	for i := range messages {
		if n := size(messages[i]); messages[i].Role == "tool" && n > most {
			bytes := int64(len(whole[i].Content)) * int64(max(most-noteTokens, 0)) / int64(max(size(whole[i]), 1))
			ch.shorten(&messages[i], whole[i], max(int(bytes), keptBytes))
		}
	}
}

func sizes(messages []record.Message, size func(record.Message) int) []int {
	var out []int
	for _, m := range messages {
		if m.Role == "tool" {
			out = append(out, size(m))
		}
	}
	return out
}

func sum(sizes []int) int {
	n := 0
	for _, s := range sizes {
		n += s
	}
	return n
}

// fill returns the limit for each result so that all together fit into room.
func fill(sizes []int, room int) int {
	sizes = slices.Sorted(slices.Values(sizes))
	for i, s := range sizes {
		if each := room / (len(sizes) - i); s > each {
			return each
		}
		room -= s
	}
	return room + sum(sizes) // all are whole
}
