package gate

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// checked judges a line, as a call or as an old result, and returns what becomes of it.
func checked(t *testing.T, k *Checker, text string) string {
	t.Helper()
	line, err := record.Parse([]byte(text))
	must(t, err)
	judge := k.Call
	if line.Kind() == record.KindToolResult {
		judge = k.Result
	}
	out, err := judge(t.Context(), line)
	must(t, err)
	return string(out)
}

func old(tool, args, verdict string) string {
	return fmt.Sprintf(`{"v":1,"kind":"tool_result","id":"c","tool":%q,"args":%s,"status":"allowed","success":true,`+
		`"output":"","verdict":%s}`, tool, args, verdict)
}

func verdict(decision, rule, approval string) string {
	return fmt.Sprintf(`{"decision":%q,"risk":"low","reason":"","rule":%q,"approval":%q}`, decision, rule, approval)
}

// TestCheckCounts: an old decision is compared with what the policy says now. What a person was to be asked about
// counts as asked, whatever came of it.
func TestCheckCounts(t *testing.T) {
	outside := `{"path":"/etc/passwd"}`
	for _, c := range []struct {
		line string
		want string // same, milder, stricter, new
	}{
		{old("file_read", reads, verdict("allow", "path.read", "not_required")), "1 0 0 0"},
		{old("file_read", reads, verdict("deny", "path.read", "not_required")), "0 1 0 0"},
		{old("file_read", outside, verdict("deny", "path.outside", "not_required")), "1 0 0 0"},
		{old("file_read", outside, verdict("allow", "path.read", "not_required")), "0 0 1 0"},
		{old("file_write", writes, verdict("allow", "path.workspace", "granted")), "1 0 0 0"},
		{old("file_write", writes, verdict("deny", "path.workspace", "refused")), "1 0 0 0"},
		{old("file_write", writes, verdict("deny", "path.workspace", "unavailable")), "1 0 0 0"},
		{old("file_write", writes, verdict("allow", ruleIdle, "not_required")), "1 0 0 0"},
		{old("file_write", writes, verdict("allow", "path.workspace", "not_required")), "0 0 1 0"},
		{old("file_write", writes, verdict("deny", "path.workspace", "not_required")), "0 1 0 0"},
		{`{"v":1,"kind":"tool_call","id":"c","tool":"file_read","args":` + reads + `}`, "0 0 0 1"},
	} {
		for _, silent := range []bool{false, true} {
			k, err := NewChecker(newHouse(t).config)
			must(t, err)
			k.Silent = silent
			out := checked(t, k, c.line)
			s := k.Summary()
			if got := fmt.Sprint(s.Same, s.Milder, s.Stricter, s.New); got != c.want || s.Calls != 1 ||
				(out == "") != silent || len(s.Changes) != s.Milder+s.Stricter {
				t.Errorf("%s: %s, want %s (silent %v: %q)", c.line, got, c.want, silent, out)
			}
			var text bytes.Buffer
			must(t, s.WriteText(&text))
			if !strings.HasPrefix(text.String(), "1 call: ") ||
				strings.Count(text.String(), "\n") > 1 != (len(s.Changes) > 0) {
				t.Error(text.String())
			}
		}
	}
}

// An old result becomes its call, with the verdict as it would be and what was decided then.
func TestCheckShowsBoth(t *testing.T) {
	k, err := NewChecker(newHouse(t).config)
	must(t, err)
	out := checked(t, k, old("file_write", writes, verdict("allow", "path.workspace", "granted")))
	for _, want := range []string{`"kind":"tool_call"`, `"decision":"ask"`,
		`"was":{"decision":"allow","risk":"low","rule":"path.workspace","approval":"granted"}`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

// What cannot be judged is an error, and counts as nothing.
func TestCheckRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	k, err := NewChecker(newHouse(t).config)
	must(t, err)
	for text, ctx := range map[string]context.Context{
		`{"v":1,"kind":"tool_result","id":"c","tool":"time"}`:                       t.Context(),
		`{"v":1,"kind":"tool_result","id":"c","args":{}}`:                           t.Context(),
		`{"v":1,"kind":"tool_result","id":"c","tool":7,"args":{}}`:                  t.Context(),
		old("file_read", reads, verdict("allow", "path.read", "not_required")):      ended,
		`{"v":1,"kind":"tool_result","id":"c","tool":"file_read","args":` + "{}}\n": ended,
	} {
		line, err := record.Parse([]byte(strings.TrimSpace(text)))
		must(t, err)
		if out, err := k.Result(ctx, line); err == nil || out != nil {
			t.Errorf("%s: %s", text, out)
		}
	}
	call, err := record.Parse([]byte(`{"v":1,"kind":"tool_call","id":"c","tool":"time","args":{},"verdict":{}}`))
	must(t, err)
	if out, err := k.Call(t.Context(), call); err == nil || out != nil {
		t.Errorf("a verdict is there already: %s", out)
	}
	if s := k.Summary(); s.Calls != 0 {
		t.Errorf("%+v", s)
	}
}

// The state says who named the workspace, and whether anything keeps tools from running.
func TestStateNamesItsReasons(t *testing.T) {
	for from, want := range map[string]string{config.FromFlag: "-C on the command line",
		config.FromEnvironment: "in the environment", config.FromConfig: "workspace_dir",
		config.FromHere: "trusted it on"} {
		h := newHouse(t)
		h.config.Workspace.From, h.config.Workspace.Real = from, h.config.WorkspaceDir
		s, err := InForce(h.config)
		must(t, err)
		if s.Estop || !strings.Contains(s.because(), want) || strings.Contains(s.because(), "does not exist") {
			t.Errorf("%s: %+v", from, s)
		}
		s.Estop, s.EstopReason, s.WorkspaceMissing = true, "somebody\x1b[2Jpulled it", true
		var text bytes.Buffer
		must(t, s.WriteText(&text))
		if strings.Contains(text.String(), "\x1b") || !strings.Contains(text.String(), "on, no tool can run: somebody") ||
			!strings.Contains(text.String(), "clawsh init creates it") {
			t.Error(text.String())
		}
	}
}
