package memory

import (
	"testing"

	"clawsh/lib/record"
)

// A stream of records that name no turns can be stored a second time, from the beginning: each is known.
func TestStreamWithoutTurnsComesAgain(t *testing.T) {
	s := openTemp(t)
	stream := []record.Line{
		parse(t, "user", "u1", "", "", `"content":"a"`),
		parse(t, "response", "r1", "", "", `"final_text":"hi","tool_calls":[{"id":"c1","name":"time"}]`),
		parse(t, "tool_result", "c1", "", "", `"tool":"time","output":"now"`),
		parse(t, "final", "f1", "", "", `"content":"hi","stop_reason":"final_text"`),
		parse(t, "user", "u2", "", "", `"content":"b"`),
		parse(t, "response", "r2", "", "", `"final_text":"yo","tool_calls":[]`),
		parse(t, "final", "f2", "", "", `"content":"yo","stop_reason":"final_text"`),
	}
	for _, again := range []bool{false, true} {
		for _, line := range stream {
			if _, stored, err := s.Keep(line, "", Place{}); err != nil || stored == again {
				t.Errorf("%s, again %v: stored %v, %v", line.ID(), again, stored, err)
			}
		}
	}
	// and so it is where an export of it was imported
	other := openTemp(t)
	err := s.Export(ExportOptions{}, func(b []byte) error {
		line, err := record.Parse(b)
		if err == nil {
			_, err = other.Import([]record.Line{line}, "")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range stream {
		if _, stored, err := other.Keep(line, "", Place{}); err != nil || stored {
			t.Errorf("%s behind its export: stored %v, %v", line.ID(), stored, err)
		}
	}
}
