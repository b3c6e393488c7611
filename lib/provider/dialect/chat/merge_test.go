package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"clawsh/lib/record"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"texts":            {`{"a":"x"} {"a":"y"}`, `{"a":"xy"}`},
		"set once":         {`{"type":"t","id":"1"} {"type":"t","id":"1"}`, `{"type":"t","id":"1"}`},
		"null changes not": {`{"a":"x"} {"a":null}`, `{"a":"x"}`},
		"null, then":       {`{"a":null} {"a":[1]}`, `{"a":[1]}`},
		"numbers":          {`{"a":12345678901234567890} {"a":0.10}`, `{"a":0.10}`},
		"objects":          {`{"a":{"b":"x"}} {"a":{"b":"y","c":1}}`, `{"a":{"b":"xy","c":1}}`},
		"by index": {`{"a":[{"index":1,"t":"x"}]} {"a":[{"index":0,"t":"o"}]} {"a":[{"index":1,"t":"y"}]}`,
			`{"a":[{"index":1,"t":"xy"},{"index":0,"t":"o"}]}`},
		"appended":    {`{"a":[{"n":1}]} {"a":[{"n":2}]}`, `{"a":[{"n":1},{"n":2}]}`},
		"a signature": {`{"thought_signature":"s"} {"thought_signature":"s"}`, `{"thought_signature":"s"}`},
		"order":       {`{"z":1} {"a":1} {"z":2}`, `{"z":2,"a":1}`},
		"text among parts": {`{"content":[{"type":"text","text":"a"}]} {"content":"b"}`,
			`{"content":[{"type":"text","text":"ab"}]}`},
		"another type": {`{"a":"x"} {"a":{"b":1}}`, `{"a":{"b":1}}`},
	} {
		var all tree
		for _, piece := range strings.Split(c.in, " ") {
			if err := all.merge("", record.Raw(piece)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := all.value(); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, err)
		}
	}
}

func TestThinker(t *testing.T) {
	for in, want := range map[string][2]string{
		"<think>a</think>b": {"b", "a"}, "  <think>\na\n</think>\n\n b": {"b", "\na\n"}, "plain": {"plain", ""},
		"<thin": {"<thin", ""}, "<thinking>x</thinking>y": {"y", "x"},
		"a <think>b</think>": {"a <think>b</think>", ""}, "<think>never": {"", "never"},
		"<think>a</think><think>b</think>c": {"c", "ab"}, "<think></think>": {"", ""}, " \n": {" \n", ""},
		"<b>x": {"<b>x", ""}, "<think>a</thi</think>b": {"b", "a</thi"},
	} {
		for _, size := range []int{1, 2, 3, 100} {
			var k thinker
			out := ""
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				out, rest = out+k.next(rest[:n]), rest[n:]
			}
			out += k.rest()
			if out != want[0] || k.thought.String() != want[1] {
				t.Errorf("%q in pieces of %d: %q, %q", in, size, out, k.thought.String())
			}
		}
	}
}

// TestManyPartsTakeNoTime: what a server sends in very many parts is put together in a time that grows as they do.
func TestManyPartsTakeNoTime(t *testing.T) {
	var whole tree
	begun := time.Now()
	const parts = 25_000
	for i := range parts {
		piece := fmt.Sprintf(`[{"type":"text","text":"x","index":%d},{"text":"y","index":%d}]`, i, i/2)
		if err := whole.merge("content", record.Raw(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if len(whole.list) != parts || !whole.list[1].members["text"].is("xyy") || time.Since(begun) > 10*time.Second {
		t.Errorf("%d parts after %v", len(whole.list), time.Since(begun))
	}
}
