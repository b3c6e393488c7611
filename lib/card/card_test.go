package card

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
)

func limit(key string) float64 { return float64(len(key)) }

// offered are the schemas that models get. A change here is one of every request.
var offered = map[string]string{
	"time": `{"type":"object","properties":{},"additionalProperties":false}`,
	"file_list": `{"type":"object","properties":{"path":{"type":"string","description":"default: ."},"recursive":{"type":"boolean"},` +
		`"max_entries":{"type":"integer","description":"default 200, at most 1000"}},"additionalProperties":false}`,
	"file_read": `{"type":"object","properties":{"path":{"type":"string"},"from_line":{"type":"integer","minimum":1},` +
		`"lines":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}`,
	"file_search": `{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"default: ."},` +
		`"glob":{"type":"string","description":"such as *.go or src/**/*.{c,h}"},"ignore_case":{"type":"boolean"},` +
		`"context":{"type":"integer","minimum":0,"maximum":10},"limit":{"type":"integer","description":"default 100, at most 1000"}},` +
		`"required":["pattern"],"additionalProperties":false}`,
	"file_edit": `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":` +
		`{"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean"}},"required":["old","new"]}}},` +
		`"required":["path","edits"],"additionalProperties":false}`,
	"file_write": `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},` +
		`"mode":{"type":"string","enum":["overwrite","create","append"]}},"required":["path","content"],"additionalProperties":false}`,
	"shell": `{"type":"object","properties":{"command":{"type":"string"},` +
		`"timeout_s":{"type":"number","description":"default 15, at most 19"}},"required":["command"],"additionalProperties":false}`,
	"http": `{"type":"object","properties":{"url":{"type":"string"}},"required":["url"],"additionalProperties":false}`,
	"memory_search": `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":20},` +
		`"role":{"type":"string","enum":["user","assistant","tool"]},"tool":{"type":"string"},"conversation_id":{"type":"string"},` +
		`"since":{"type":"string","description":"date or age: 7d"},"until":{"type":"string"}},` +
		`"required":["query"],"additionalProperties":false}`,
	"ask_user": `{"type":"object","properties":{"question":{"type":"string"}},"required":["question"],"additionalProperties":false}`,
}

func TestSchemas(t *testing.T) {
	for _, c := range All() {
		if got := string(c.Schema(limit)); offered[c.Name] == "" {
			t.Errorf("%s has no row in offered: add its schema, %s", c.Name, got)
		} else if got != offered[c.Name] {
			t.Errorf("%s:\n%s, want\n%s", c.Name, got, offered[c.Name])
		}
	}
	if len(All()) != len(offered) {
		t.Errorf("%d cards, want %d", len(All()), len(offered))
	}
}

// TestDescriptionsAreShort: they are paid for in every request.
func TestDescriptionsAreShort(t *testing.T) {
	type function struct {
		Name        string     `json:"name"`
		Description string     `json:"description"`
		Parameters  record.Raw `json:"parameters"`
	}
	type offer struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var all []offer
	for _, c := range All() {
		all = append(all, offer{"function", function{c.Name, c.Sentence, c.Schema(limit)}})
	}
	b, err := record.Encode(all)
	if err != nil || len(all) != 10 || len(b) >= 3700 {
		t.Errorf("%d tools take %d bytes of every request, want 10 in less than 3700: %v; raise both for a new tool",
			len(all), len(b), err)
	}
}

// TestCardsAreWhole: whoever reads a card finds what they look for.
func TestCardsAreWhole(t *testing.T) {
	risks := []string{record.RiskLow, record.RiskMedium, record.RiskHigh}
	roles := []Role{"", Read, ReadResult, Write, Address, Script, Connect}
	names, types := map[string]bool{}, map[reflect.Type]bool{}
	for _, c := range All() {
		args, judged := reflect.TypeOf(c.Args), false
		if c.Name == "" || names[c.Name] || args.Kind() != reflect.Struct || types[args] || !reflect.ValueOf(c.Args).
			IsZero() {
			t.Errorf("%q: want a name and a type of arguments of its own, without values", c.Name)
		}
		names[c.Name], types[args] = true, true
		for a := range arguments(reflect.ValueOf(c.Args)) {
			judged = judged || a.role != ""
			if a.name == "" || !slices.Contains(roles, a.role) || a.want != "" && !strings.Contains(a.want, "|") &&
				!strings.Contains(a.want, "..") {
				t.Errorf("%s: %+v", c.Name, a)
			}
		}
		if c.Sentence == "" || c.Timeout == "" || c.Origin != Builtin || !slices.Contains(risks, c.Risk) || !judged &&
			c.Does == "" {
			t.Errorf("%s has gaps: %+v", c.Name, c)
		}
	}
	if _, ok := Find("Time"); ok {
		t.Error("a name is found in another spelling")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, c := range []struct{ tool, args, why string }{
		{"time", `{"x":1}`, `unknown field "x"; it takes none`},
		{"time", ``, ""}, {"time", `null`, "they are not JSON"}, {"time", `[]`, "want a JSON object"},
		{"time", `{} {}`, ""},
		{"time", `"{}"`, "they are a text that holds an object"},
		{"time", `"{\"a\":}"`, "they are not JSON"},
		{"time", `"[1]"`, "not an object; call again with one"},
		{"file_read", `{}`, "path is missing; it takes path, from_line, lines, offset, limit"},
		{"file_read", `{"path":null}`, "path is missing"},
		{"file_read", `{"Path":"a"}`, "unknown field"},
		{"file_read", `{"path":"a","path":"b"}`, ""},
		{"file_read", `{"path":1}`, `field "path": want a string`},
		{"file_read", `{"path":"a","limit":9007199254740993}`, "number"},
		{"file_read", `{"path":"a","limit":1e400}`, "number"},
		{"file_edit", `{"path":"a"}`, "edits is missing"},
		{"file_edit", `{"path":"a","edits":[]}`, "edits is missing"},
		{"file_edit", `{"path":"a","edits":[{"old":"a"}]}`, "new is missing"},
		{"file_write", `{"path":"a"}`, "content is missing"},
		{"file_write", `{"path":"a","content":"","mode":"execute"}`, "mode: want overwrite, create or append"},
		{"http", `{"url":"x","method":"POST"}`, "method: only GET is supported"},
		{"ask_user", `{"question":null}`, "question is missing"},
	} {
		card, _ := Find(c.tool)
		if _, err := card.Decode(record.Raw(c.args)); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %s: %v, want %s", c.tool, c.args, err, c.why)
		}
	}
	// What is required and empty is given.
	for tool, args := range map[string]string{"file_write": `{"path":"","content":""}`, "ask_user": `{"question":""}`,
		"shell": `{"command":""}`} {
		card, _ := Find(tool)
		if _, err := card.Decode(record.Raw(args)); err != nil {
			t.Errorf("%s %s: %v", tool, args, err)
		}
	}
}

// TestNumbersInRange: the executor takes what the schema says, to the number.
func TestNumbersInRange(t *testing.T) {
	for _, c := range []struct {
		args, why string
		decode    func(record.Raw) error
	}{
		{`{"max_entries":1}`, "", decoding[ListArgs]}, {`{"max_entries":1000}`, "", decoding[ListArgs]},
		{`{}`, "", decoding[ListArgs]},
		{`{"max_entries":0}`, "want max_entries from 1 to 1000", decoding[ListArgs]},
		{`{"max_entries":1001}`, "want max_entries from 1 to 1000", decoding[ListArgs]},
		{`{"path":"a","from_line":0}`, "want from_line of 1 or more", decoding[ReadArgs]},
		{`{"path":"a","offset":-1}`, "want offset of 0 or more", decoding[ReadArgs]},
		{`{"path":"a","offset":0,"limit":1}`, "", decoding[ReadArgs]},
		{`{"pattern":"a","context":11}`, "want context from 0 to 10", decoding[SearchArgs]},
		{`{"query":"a","limit":21}`, "want limit from 1 to 20", decoding[MemoryArgs]},
	} {
		err := c.decode(record.Raw(c.args))
		if (err == nil) != (c.why == "") || err != nil && err.Error() != c.why {
			t.Errorf("%s: %v, want %s", c.args, err, c.why)
		}
	}
}

func decoding[A any](raw record.Raw) error {
	_, err := Decode[A](raw)
	return err
}

func TestJudged(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		want       []Judged
	}{
		{"time", `{}`, nil},
		{"file_list", `{}`, []Judged{{Read, "", false}}},
		{"file_list", `{"path":""}`, []Judged{{Read, "", true}}},
		{"file_search", `{"pattern":"x","path":""}`, []Judged{{ReadResult, "", false}}},
		{"file_write", `{"path":"","content":""}`, []Judged{{Write, "", true}}},
		{"shell", `{"command":"ls","network":[]}`, []Judged{{Script, "ls", true}, {Connect, "", true}}},
		{"shell", `{"command":"ls","network":null}`, []Judged{{Script, "ls", true}, {Connect, "", false}}},
	} {
		card, _ := Find(c.tool)
		args, err := card.Decode(record.Raw(c.args))
		if got := slices.Collect(args.Judged()); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %+v, want %+v (%v)", c.tool, c.args, got, c.want, err)
		}
	}
}

// In which process a tool runs follows from what it needs. Where no process has all of that, the tool runs nowhere.
func TestRuns(t *testing.T) {
	for needs, want := range map[Needs]Process{0: Confined, Files: Confined, Files | Program: Confined,
		Terminal: Confined,
		Memory:   Brokered, Network: Fetching} {
		if got := needs.Runs(); got != want || needs.Starts() != (want != Confined || needs&Program != 0) {
			t.Errorf("%b: %d, starts %t", needs, got, needs.Starts())
		}
	}
	for needs := range Needs(1 << 5) {
		if both := needs&(Memory|Network) != 0 && needs != Memory &&
			needs != Network; both != (needs.Runs() == Nowhere) {
			t.Errorf("%b runs in %d", needs, needs.Runs())
		}
	}
	for _, c := range All() {
		if c.Needs.Runs() == Nowhere {
			t.Errorf("%s runs nowhere", c.Name)
		}
	}
}
