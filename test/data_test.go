package test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// elsewhere are the commands whose data has its schema beside those of the records.
var elsewhere = []string{"clawsh", "agent", "doctor"}

// checkData checks what a command has really printed against the schema of its data. What the schema does not name is
// an error, but of commands that say more on some machines than on others.
func checkData(t *testing.T, out string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	envelope, ok := doc.(map[string]any)
	if err != nil || !ok {
		t.Errorf("%v: %s", err, out)
		return
	}
	name, _ := envelope["command"].(string)
	if slices.Contains(elsewhere, name) {
		return
	}
	schema, err := dataSchema(strings.ReplaceAll(name, " ", "_"), name != "policy" && name != "sandbox")
	if err != nil {
		t.Errorf("the data of %q has no schema: %v", name, err)
		return
	}
	if err := schema.Validate(envelope["data"]); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// dataSchema reads a schema of docs/schemas/data; a closed one takes no names but those that it has.
func dataSchema(name string, closed bool) (*jsonschema.Schema, error) {
	b, err := os.ReadFile("../docs/schemas/data/" + name + ".json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if closed {
		closeObjects(doc)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name+".json", doc); err != nil {
		return nil, err
	}
	return c.Compile(name + ".json")
}

func closeObjects(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		s["additionalProperties"] = false
		for _, p := range properties {
			closeObjects(p)
		}
	}
	closeObjects(s["items"])
}

// TestExamplesOfData: each schema of a command's data has an example, which it takes.
func TestExamplesOfData(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../docs/schemas/data/*.json")
	if len(files) < 50 {
		t.Fatalf("%d schemas", len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		examples, _ := doc.(map[string]any)["examples"].([]any)
		schema, err := dataSchema(strings.TrimSuffix(filepath.Base(f), ".json"), true)
		if err != nil || len(examples) == 0 {
			t.Errorf("%s has %d examples: %v", f, len(examples), err)
			continue
		}
		for _, e := range examples {
			if err := schema.Validate(e); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}
