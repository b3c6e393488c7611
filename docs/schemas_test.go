package docs

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
		{"tool_call", `{"v":1,"kind":"tool_call","id":"x","tool":"t","args":{},"verdict":{"decision":"deny","risk":"low","reason":"","rule":"a.b","approval":"granted","policy_hash":"0","decided_at":"x"}}`},
		{"tool_result", `{"v":1,"kind":"tool_result","id":"x","tool":"t","args":{},"status":"allowed","success":false,"output":"","metadata":{"duration_ms":1,"truncated":false}}`},
		{"receipt", `{"id":"receipt-1"}`}, {"user", `{"v":2,"kind":"user","id":"x","content":"y"}`}, {"final", `{"v":1,"kind":"final"}`},
		{"envelope", `{"schema_version":"2.0","timestamp":"2026-05-12T14:00:00Z","command":"x","exit_code":1,"output_format":"json","data":{}}`},
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
