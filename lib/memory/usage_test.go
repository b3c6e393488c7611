package memory

import (
	"bytes"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// Whatever numbers a provider reports, what was used can be counted afterwards, and people can read the views.
func TestStrangeNumbersCanBeCounted(t *testing.T) {
	s := openTemp(t)
	const most = "9223372036854775807"
	put(t, s, "response", "r1", "conv-1", "t1", `"final_text":"a","tool_calls":[],"usage":{"input_tokens":`+most+
		`,"output_tokens":-7}`)
	put(t, s, "response", "r2", "conv-1", "t1", `"final_text":"b","tool_calls":[],"usage":{"input_tokens":`+most+
		`,"output_tokens":5}`)
	for _, by := range UsageKeys() {
		list, err := s.Usage(UsageOptions{By: by})
		if err != nil || len(list) != 1 || list[0].InputTokens != 2*maxCountable || list[0].OutputTokens != 5 {
			t.Errorf("by %s: %+v %v", by, list, err)
		}
	}
	for _, view := range []string{"conversation_list", "turns", "tool_calls", "usage"} {
		if err := s.query(`SELECT * FROM `+view, func(*sqlite3.Stmt) error { return nil }); err != nil {
			t.Errorf("view %s: %v", view, err)
		}
	}
	kept := 0
	err := s.Export(ExportOptions{}, func(line []byte) error {
		kept += bytes.Count(line, []byte(most)) + bytes.Count(line, []byte("-7"))
		return nil
	})
	if err != nil || kept != 3 {
		t.Errorf("what was reported is there %d times, %v", kept, err)
	}
}
