package loop

import (
	"fmt"
	"testing"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

func TestExitCode(t *testing.T) {
	denied := func(rule, approval string) []record.Denial { return []record.Denial{{Rule: rule, Approval: approval}} }
	for _, c := range []struct {
		stop    string
		denials []record.Denial
		want    int
	}{
		{record.StopFinalText, nil, 0}, {record.StopFinalText, denied("path.outside", "not_required"), 77}, {record.StopFinalText, denied("path.workspace", "unavailable"), 77},
		{record.StopFinalText, denied("path.workspace", "refused"), 0}, {record.StopFinalText, denied("args.invalid", "not_required"), 0},
		{record.StopFinalText, append(denied("args.invalid", "not_required"), denied("estop", "not_required")...), 77},
		{record.StopMaxToolRounds, nil, 2}, {record.StopTimeout, nil, 2}, {record.StopCancelled, nil, 130}, {record.StopProviderError, nil, 69}, {record.StopStageError, nil, 1}, {"", nil, 1},
	} {
		if got := ExitCode(record.Final{StopReason: c.stop, Denials: c.denials}); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.stop, c.denials, got, c.want)
		}
	}
}

func conversation(roles string) []record.Message {
	var out []record.Message
	for i, r := range roles {
		m := record.Message{Role: map[rune]string{'u': "user", 'a': "assistant", 'c': "assistant", 't': "tool"}[r], Content: fmt.Sprint(i)}
		if r == 'c' {
			m.ToolCalls = []record.CallPart{{ID: fmt.Sprint("call-", i)}}
		}
		if r == 't' {
			m.ToolCallID = fmt.Sprint("call-", i-1)
		}
		out = append(out, m)
	}
	return out
}

// TestWindow sends the newest messages in whole turns: never a tool result without its call.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		roles string
		most  int
		want  int
	}{{"uaua", 10, 4}, {"uauau", 3, 3}, {"uauau", 2, 3}, {"uctauctau", 4, 5}, {"uctctctcta", 3, 10}, {"u", 1, 1}, {"uaua", 0, 4}, {"uauctct", 3, 5}} {
		tn := &turn{Loop: &Loop{Options: Options{MaxMessages: c.most}, messages: conversation(c.roles)}}
		got := tn.window()
		if len(got) != c.want || got[0].Role != "user" {
			t.Errorf("%s at most %d: %d messages from %s", c.roles, c.most, len(got), got[0].Role)
		}
	}
}

// TestRepair gives every call of a turn that was cut off a result.
func TestRepair(t *testing.T) {
	tn := &turn{Loop: &Loop{messages: conversation("uctc")}}
	tn.repair()
	last := tn.messages[len(tn.messages)-1]
	if len(tn.messages) != 5 || last.ToolCallID != "call-3" || !last.IsError {
		t.Errorf("%+v", tn.messages)
	}
	tn.repair()
	if len(tn.messages) != 5 {
		t.Error("repaired twice")
	}
}

// An error of the tool chain is none of the provider's: the turn ends with exit code 1, an error of the provider with 69.
func TestReportedErrors(t *testing.T) {
	line, err := record.Parse([]byte(`{"v":1,"kind":"error","stage":"claw-gate","code":"verdict.smuggled","message":"m","retryable":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, exit := range []int{envelope.ExitError, envelope.ExitProvider} {
		if e := envelope.From(reported(line, exit)); e.ExitCode() != exit || e.Code != "verdict.smuggled" {
			t.Errorf("%+v", e)
		}
	}
}
