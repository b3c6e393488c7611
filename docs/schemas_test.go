package docs

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"clawsh/lib/receipt"
	"clawsh/lib/record"
)

// TestExamples checks the examples of SCHEMAS.md, and that every schema has one.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("SCHEMAS.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile("(?s)<!-- schema: (\\w+) -->\n```json\n(.*?)\n```").FindAllSubmatch(page, -1) {
		name := string(m[1])
		seen[name] = true
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(m[2]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := compile(t, name).Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, m[2])
		}
	}
	files, err := FS.ReadDir("schemas")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".json"); !seen[name] {
			t.Errorf("%s has no example in SCHEMAS.md", name)
		}
	}
}

// TestKindsHaveSchemas: each kind of the table has one.
func TestKindsHaveSchemas(t *testing.T) {
	for _, kind := range record.KindsWith(0) {
		if _, err := FS.ReadFile("schemas/" + string(kind) + ".json"); err != nil || record.VersionOf(kind) < 1 {
			t.Errorf("%s of version %d: %v", kind, record.VersionOf(kind), err)
		}
	}
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	b, err := FS.ReadFile("schemas/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name+".json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemasRefuse checks that the schemas are strict where it matters.
func TestSchemasRefuse(t *testing.T) {
	for _, c := range [][2]string{
		{"tool_call",
			`{"v":1,"kind":"tool_call","id":"x","tool":"t","args":{},"verdict":{"decision":"deny","risk":"low","reason":"","rule":"a.b","approval":"granted","policy_hash":"0","decided_at":"x"}}`},
		{"tool_result",
			`{"v":1,"kind":"tool_result","id":"x","tool":"t","args":{},"status":"allowed","success":false,"output":"","metadata":{"duration_ms":1,"truncated":false}}`},
		{"fixture_step", `{"final_text":"a","final_text_jq":"b"}`}, {"fixture_step", `{"tool_calls":[]}`},
		{"fixture_step", `{"final_text":"a","error":"auth"}`},
		{"receipt", `{"id":"receipt-1"}`}, {"user", `{"v":2,"kind":"user","id":"x","content":"y"}`},
		{"final", `{"v":1,"kind":"final"}`},
		{"envelope",
			`{"schema_version":"2.0","timestamp":"2026-05-12T14:00:00Z","command":"x","exit_code":1,"output_format":"json","data":{}}`},
		{"doctor", `{"findings":[],"wrong":0,"mended":0}`},
		{"doctor", `{"findings":[{"check":"moon","state":"ok","message":"x"}],"wrong":0,"mended":0}`},
		{"doctor", `{"findings":[{"check":"disk","state":"ok","message":"x","mend":"y"}],"wrong":0,"mended":0}`},
		{"doctor", `{"findings":[{"check":"disk","state":"wrong","message":"x","mended":true}],"wrong":0,"mended":1}`},
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		if compile(t, c[0]).Validate(doc) == nil {
			t.Errorf("%s accepts %s", c[0], c[1])
		}
	}
}

// section returns the part of SCHEMAS.md below a heading, up to the next one.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("SCHEMAS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("SCHEMAS.md has no heading %q", heading)
	}
	level := heading[:strings.IndexByte(heading, ' ')]
	if level == "###" {
		rest, _, _ = strings.Cut(rest, "\n### ")
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

// names lists the JSON names of a struct's fields, those of structs inside it too.
func names(typ reflect.Type) (out []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(append(out, name), names(f.Type)...)
	}
	return out
}

// TestEveryFieldIsDocumented: what the programs may write is in the section of its kind and in its schema.
func TestEveryFieldIsDocumented(t *testing.T) {
	common := section(t, "## Records")
	common, _, _ = strings.Cut(common, "\n### ")
	written := map[string]any{"user": record.User{}, "conversation": record.Conversation{},
		"request": record.Request{}, "delta": record.Delta{}, "response": record.Response{},
		"tool_call": record.ToolCall{}, "tool_result": record.ToolResult{}, "final": record.Final{},
		"error": record.Error{}, "summary": record.Summary{},
		"reserve": record.Reserve{}}
	for _, kind := range record.KindsWith(0) {
		if written[string(kind)] == nil {
			t.Errorf("%s has no row in this test: add its struct", kind)
		}
	}
	for kind, v := range written {
		words := section(t, "### "+kind) + common
		if kind == "tool_result" {
			words += section(t, "### tool_call")
		}
		schema, err := FS.ReadFile("schemas/" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names(reflect.TypeOf(v)) {
			if !strings.Contains(words, "`"+name) {
				t.Errorf("SCHEMAS.md says nothing about %s.%s", kind, name)
			}
			if !bytes.Contains(schema, []byte(`"`+name+`":`)) {
				t.Errorf("schemas/%s.json says nothing about %s", kind, name)
			}
		}
	}
}

// TestReceiptExample: the receipt on the page is a real one.
func TestReceiptExample(t *testing.T) {
	_, example, _ := strings.Cut(section(t, "### tool_receipts.log"), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	rep, err := receipt.Verify(strings.NewReader(example), receipt.Trust{})
	if err != nil || !rep.Valid || rep.Count != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}
