package conversation

import (
	"fmt"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/lib/result"
)

// turn makes a turn of a user message, one round of calls for each output, and an answer.
func turn(id string, outputs ...string) Turn {
	t := Turn{ID: id, Messages: []record.Message{{Role: "user", Content: "question " + id}}}
	for i, out := range outputs {
		call := fmt.Sprintf("call-%s-%d", id, i)
		t.Messages = append(t.Messages,
			record.Message{Role: "assistant",
				ToolCalls: []record.CallPart{{ID: call, Name: "shell", Args: record.Raw("{}")}}},
			record.Message{Role: "tool", ToolCallID: call, Content: out})
	}
	t.Messages = append(t.Messages, record.Message{Role: "assistant", Content: "answer " + id})
	return t
}

// outline writes what is left: the turns' ids, with a letter for each result: W whole, S shortened, N nothing but the
// note.
func outline(c Conversation, whole map[string]int) string {
	var words []string
	if c.Summary != "" {
		words = append(words, "summary")
	}
	for _, t := range c.Turns {
		w := t.ID
		for _, m := range t.Messages {
			switch {
			case m.Role != "tool":
			case len(m.Content) == whole[m.ToolCallID]:
				w += "W"
			case len(m.Content) > 900:
				w += "S"
			default:
				w += "N"
			}
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestChoose(t *testing.T) {
	k := func(n int) string { return strings.Repeat("word and line\n", n*1024/14) } // n*256 tokens
	for name, c := range map[string]struct {
		turns  []Turn
		budget Budget
		want   string
	}{
		"nothing":   {nil, Budget{Tokens: 100}, ""},
		"no budget": {[]Turn{turn("a", k(50)), turn("b", k(50))}, Budget{}, "aW bW"},
		"all fits":  {[]Turn{turn("a", k(4)), turn("b", k(4))}, Budget{Tokens: 2600}, "aW bW"},
		"older result first": {[]Turn{turn("a", k(8)), turn("b", k(8)), turn("c", k(8))},
			Budget{Tokens: 5500}, "aS bW cW"},
		"older two": {[]Turn{turn("a", k(8)), turn("b", k(8)), turn("c", k(8))},
			Budget{Tokens: 3200}, "aS bS cW"},
		"then the oldest turn": {[]Turn{turn("a", k(8), k(8)), turn("b", k(8), k(8)), turn("c", k(8))},
			Budget{Tokens: 2950}, "bSS cW"},
		"all older turns": {[]Turn{turn("a", k(8)), turn("b", k(8)), turn("c", k(8))},
			Budget{Tokens: 400}, "cS"},
		"newest over alone":              {[]Turn{turn("a"), turn("c", k(40), k(40))}, Budget{Tokens: 500}, "a cNS"},
		"newest far over":                {[]Turn{turn("a"), turn("c", k(40), k(40))}, Budget{Tokens: 1}, "cNN"},
		"within the newest, older first": {[]Turn{turn("c", k(8), k(8), k(8))}, Budget{Tokens: 4700}, "cSWW"},
		"a quarter is for older turns": {[]Turn{turn("b", k(1), k(1)), turn("c", k(8), k(8))}, Budget{Tokens: 4400},
			"bWW cSW"},
		"messages":              {[]Turn{turn("a"), turn("b"), turn("c", k(1))}, Budget{Messages: 6}, "b cW"},
		"messages, newest over": {[]Turn{turn("b"), turn("c", k(1), k(1))}, Budget{Messages: 3}, "cWW"},
		"bytes":                 {[]Turn{turn("a", k(8)), turn("b", k(8))}, Budget{Bytes: 12 << 10}, "aS bW"},
		"many small turns": {[]Turn{turn("a"), turn("b"), turn("c"), turn("d")}, Budget{Tokens: 60},
			"c d"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := map[string]int{}
			for _, turn := range c.turns {
				for _, m := range turn.Messages {
					whole[m.ToolCallID] = len(m.Content)
				}
			}
			in := Conversation{Turns: c.turns}
			before := fmt.Sprint(in)
			if got := outline(in.Choose(c.budget), whole); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if fmt.Sprint(in) != before {
				t.Error("the turns that were given are changed")
			}
		})
	}
}

// The summary is always there, and what it takes is not there for the turns.
func TestChooseKeepsTheSummary(t *testing.T) {
	c := Conversation{Summary: strings.Repeat("what was said ", 40), Turns: []Turn{turn("a"), turn("b")}}
	for tokens, want := range map[int]string{1: "summary b", 270: "summary a b"} {
		got := c.Choose(Budget{Tokens: tokens})
		if outline(got, nil) != want {
			t.Errorf("%d tokens: %s, want %s", tokens, outline(got, nil), want)
		}
		if m := got.Messages()[0]; m.Role != "user" || !strings.HasPrefix(m.Content, SummaryHeading) ||
			!strings.HasSuffix(m.Content, c.Summary) {
			t.Errorf("first message %+v", m)
		}
	}
}

// A shortened result says how much is missing and how to see it, is valid text, and keeps its beginning and its end.
func TestShorten(t *testing.T) {
	m := record.Message{Role: "tool", ToolCallID: "call-7", Content: "BEGIN " + strings.Repeat("ä€😀", 5000) + " END"}
	s := Shorten(m, keptBytes).Content
	if !strings.HasPrefix(s, "BEGIN ") || !strings.HasSuffix(s, " END") || strings.ContainsRune(s, '\ufffd') ||
		!strings.Contains(s, `file_read {"path":"result:`+result.ID("call-7")+`","from_line":1}`) {
		t.Errorf("%.200q", s)
	}
	var cut, of int
	if _, err := fmt.Sscanf(s[strings.Index(s, "["):], "[%d of %d bytes", &cut, &of); err != nil ||
		of != len(m.Content) || cut < of-keptBytes || cut > of-keptBytes+8 {
		t.Errorf("%d of %d, %v", cut, of, err)
	}
	for _, small := range []string{"", "short", strings.Repeat("x", keptBytes+20)} {
		if got := Shorten(record.Message{Role: "tool", Content: small}, keptBytes); got.Content != small {
			t.Errorf("%d bytes became %d", len(small), len(got.Content))
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "ä": 1, "日本": 3, "abc日": 3} {
		if got := TextTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	m := record.Message{Role: "assistant", Content: "abcd",
		ToolCalls: []record.CallPart{{ID: "c", Name: "time", Args: record.Raw("{}")}}}
	if got := Tokens(m); got != 8+1+8+1+1+1 {
		t.Errorf("%d", got)
	}
}

// What a message came with is counted where it is more than the message itself, since it is what goes back.
func TestTokensOfOriginals(t *testing.T) {
	m := record.Message{Role: "assistant", Content: "abcd",
		Original: &record.Original{Provider: "p", Dialect: "chat",
			Message: record.Raw(`{"reasoning":"` + strings.Repeat("x", 4000) + `"}`)}}
	if n := Tokens(m); n < 1000 || n > 1100 {
		t.Errorf("%d tokens", n)
	}
	if n := Bytes(m); n < 4000 {
		t.Errorf("%d bytes", n)
	}
	m.Original.Message = record.Raw("{}")
	if n := Tokens(m); n != 9 {
		t.Errorf("%d tokens of a small one", n)
	}
}

func TestComplete(t *testing.T) {
	user := record.Message{Role: "user", Content: "q"}
	call := record.Message{Role: "assistant", ToolCalls: []record.CallPart{{ID: "1"}, {ID: "2"}}}
	res := func(id string) record.Message { return record.Message{Role: "tool", ToolCallID: id, Content: id} }
	for name, c := range map[string]struct {
		in   []record.Message
		want string
	}{
		"complete":      {[]record.Message{user, call, res("1"), res("2")}, "user assistant 1 2"},
		"missing":       {[]record.Message{user, call, res("2")}, "user assistant " + Interrupted + " 2"},
		"other order":   {[]record.Message{user, call, res("2"), res("1")}, "user assistant 1 2"},
		"early":         {[]record.Message{res("1"), user, call, res("2")}, "user assistant 1 2"},
		"no call":       {[]record.Message{user, res("9")}, "user"},
		"empty":         {[]record.Message{user, {Role: "assistant"}}, "user"},
		"no such role":  {[]record.Message{user, {Role: "system", Content: "obey"}}, "user"},
		"twice":         {[]record.Message{call, res("1"), res("2"), call}, "assistant 1 2 assistant 1 2"},
		"user with one": {[]record.Message{{Role: "user", Content: "q", ToolCalls: call.ToolCalls}}, "user"},
	} {
		var words []string
		for _, m := range Complete(c.in) {
			if m.Role == "tool" {
				words = append(words, m.Content)
			} else {
				words = append(words, m.Role)
			}
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// valid checks that providers would take the messages.
func valid(messages []record.Message) error {
	var waiting []string
	for i, m := range messages {
		switch {
		case m.Role == "tool" && (len(waiting) == 0 || waiting[0] != m.ToolCallID):
			return fmt.Errorf("message %d answers no call", i)
		case m.Role == "tool":
			waiting = waiting[1:]
		case len(waiting) > 0:
			return fmt.Errorf("message %d comes before the result of %s", i, waiting[0])
		}
		for _, c := range m.ToolCalls {
			waiting = append(waiting, c.ID)
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("no result of %v", waiting)
	}
	return nil
}

// decode makes a conversation of any bytes: two for each message.
func decode(data []byte) Conversation {
	c := Conversation{Turns: []Turn{{}}}
	if len(data) > 0 && data[0] == 's' {
		c.Summary = "summary"
	}
	for ; len(data) > 1; data = data[2:] {
		kind, n := data[0], int(data[1])
		m := record.Message{Role: []string{"user", "assistant", "tool", "tool", "assistant", "other"}[kind%6],
			Content: strings.Repeat("é.", n*n/32)}
		if kind%6 == 4 {
			for i := range n % 4 {
				m.ToolCalls = append(m.ToolCalls, record.CallPart{ID: fmt.Sprint((n + i) % 7), Name: "t",
					Args: record.Raw("{}")})
			}
		}
		if m.Role == "tool" {
			m.ToolCallID = fmt.Sprint(n % 7)
		}
		if m.Role == "user" && kind > 60 {
			c.Turns = append(c.Turns, Turn{ID: fmt.Sprint(len(c.Turns))})
		}
		t := &c.Turns[len(c.Turns)-1]
		t.Messages = append(t.Messages, m)
	}
	return c
}

// FuzzChoose: of any conversation, within any budget, what is sent is a conversation that providers take; it is the end
// of what there was, in its order; and it is within the budget unless only the newest turn is left.
func FuzzChoose(f *testing.F) {
	f.Add([]byte("<\x01:\x09\x02\x09\x02\x0a\x02\x0b\x01\x05B\x01:\x0a\x02\x0a\x01\x01"), 10, 500, 9000)
	f.Add([]byte("s\xffB\xff:\xff\x02\xff\x02\xfeB\x01"), 0, 300, 0)
	f.Add([]byte{}, -1, 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, messages, tokens, bytes int) {
		if len(data) > 400 {
			return
		}
		c := decode(data)
		b := Budget{Messages: messages, Tokens: tokens, Bytes: bytes}
		got := c.Choose(b)
		if err := valid(got.Messages()); err != nil {
			t.Fatal(err)
		}
		if len(got.Turns) > 1 && !b.holds(sizeOf(got.Messages()...)) {
			t.Fatalf("%+v is over %+v with %d turns", sizeOf(got.Messages()...), b, len(got.Turns))
		}
		var all []record.Message
		for _, turn := range c.Turns {
			all = append(all, Complete(turn.Messages)...)
		}
		if len(all) > 0 && len(got.Turns) == 0 {
			t.Fatal("the newest turn is gone")
		}
		sent := got.Messages()
		if got.Summary != "" {
			sent = sent[1:]
		}
		end := all[len(all)-len(sent):]
		for i, m := range sent {
			if m.Role != end[i].Role || m.ToolCallID != end[i].ToolCallID || m.Role != "tool" &&
				m.Content != end[i].Content || len(m.Content) > len(end[i].Content) {
				t.Fatalf("message %d of %d is not what stood there", i, len(sent))
			}
		}
	})
}

// TestTwoFilesCanBeCompared: what was just asked for keeps its share, in one round and in two, alone and with turns
// before.
func TestTwoFilesCanBeCompared(t *testing.T) {
	// some 16,400 tokens
	file := func(name string) string { return strings.Repeat("a line of the file "+name+"\n", 64<<10/23) }
	one := Turn{ID: "c", Messages: []record.Message{{Role: "user", Content: "compare"},
		{Role: "assistant", ToolCalls: []record.CallPart{{ID: "call-a", Name: "file_read", Args: record.Raw("{}")},
			{ID: "call-b", Name: "file_read", Args: record.Raw("{}")}}},
		{Role: "tool", ToolCallID: "call-a", Content: file("a")},
		{Role: "tool", ToolCallID: "call-b", Content: file("b")}}}
	small := make([]string, 20)
	for i := range small {
		small[i] = strings.Repeat("small result\n", 300)
	}
	for name, c := range map[string]struct {
		turns []Turn
		least int // bytes of each of the two newest results
	}{
		"one round":                        {[]Turn{one}, 55_000},
		"two rounds":                       {[]Turn{turn("c", file("a"), file("b"))}, 55_000},
		"with turns before":                {[]Turn{turn("a", file("x")), turn("b", file("y")), one}, 45_000},
		"behind twenty rounds":             {[]Turn{turn("c", append(small, file("a"), file("b"))...)}, 40_000},
		"behind others of the same length": {[]Turn{turn("c", file("x"), file("y"), file("a"), file("b"))}, 55_000},
	} {
		got := Conversation{Turns: c.turns}.Choose(Budget{Tokens: 32_000})
		var lengths []int
		for _, m := range got.Turns[len(got.Turns)-1].Messages {
			if m.Role == "tool" {
				lengths = append(lengths, len(m.Content))
				if len(m.Content) > keptBytes+300 && strings.Contains(m.Content, "left out") &&
					!strings.Contains(m.Content, "\n[") {
					t.Errorf("%s: cut in the middle of a line", name)
				}
			}
		}
		if n := len(lengths); lengths[n-1] < c.least || lengths[n-2] < c.least || got.Tokens() > 32_000 {
			t.Errorf("%s: %v, %d tokens", name, lengths, got.Tokens())
		}
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		room  int
		want  int
	}{{[]int{10, 10}, 10, 5}, {[]int{1, 10, 10}, 11, 5}, {[]int{1, 2}, 9, 9}, {nil, 5, 5}, {[]int{7}, 0, 0}} {
		if got := fill(c.sizes, c.room); got != c.want {
			t.Errorf("%v in %d: %d, want %d", c.sizes, c.room, got, c.want)
		}
	}
}
