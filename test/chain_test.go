package test

import (
	"encoding/base64"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// unbound are the fields of a gated call that a permit does not bind: words for people, and names of what the call
// belongs to.
var unbound = []string{"verdict.reason", "verdict.rule", "verdict.approval", "verdict.decided_at", "verdict.expires_at",
	"kind", "v"} // v is 1 where it is missing

// TestEveryLinkBearsItsProof changes, drops and swaps every field of a gated call and of a result, and every claim of
// the permit and of the seal: nothing runs by what is not as the gate signed it, and no receipt attests what is not as
// claw-exec sealed it.
func TestEveryLinkBearsItsProof(t *testing.T) {
	t.Parallel()
	h, other := newHome(t), newHome(t)
	calls := `{"v":1,"kind":"tool_call","id":"call-1","conversation_id":"conv-1","tool":"file_list","args":{"path":"."}}` + "\n" +
		`{"v":1,"kind":"tool_call","id":"call-2","conversation_id":"conv-2","tool":"file_read","args":{"path":"absent"}}` + "\n"
	gated := h.filter(t, "claw-gate", calls)
	strange := other.filter(t, "claw-gate", calls)

	bad := slices.DeleteFunc(append(changed(t, gated[0], "permit"),
		swapped(t, gated[0], gated[1], "verdict", "permit")...), func(c change) bool {
		return slices.Contains(unbound, c.field)
	})
	bad = append(bad, change{"another home", strange[0]})
	for i, line := range h.filter(t, "claw-exec", lines(bad)) {
		if strings.Contains(line, `"status":"allowed"`) || strings.Contains(line, `"status":"failed"`) {
			t.Errorf("it ran with %s changed: %s", bad[i].field, line)
		}
	}
	results := h.filter(t, "claw-exec", strings.Join(gated, "\n")+"\n") // and what was refused used nothing up
	if !strings.Contains(results[0], `"status":"allowed"`) || !strings.Contains(results[1], `"status":"failed"`) {
		t.Fatalf("%q", results)
	}

	bad = append(changed(t, results[0], "seal"), swapped(t, results[0], results[1], "seal")...)
	bad = append(bad, change{"another home", other.filter(t, "claw-exec", strange[0]+"\n")[0]})
	for i, line := range h.filter(t, "claw-receipt", lines(bad)) {
		if !strings.Contains(line, `"unattested":"`) && !strings.Contains(line, `"kind":"error"`) &&
			bad[i].field != "kind" {
			t.Errorf("it is attested with %s changed: %s", bad[i].field, line)
		}
	}
	for _, line := range h.filter(t, "claw-receipt", strings.Join(results, "\n")+"\n") { // and keeps no real one out
		if strings.Contains(line, `"unattested"`) || !strings.Contains(line, `"receipt_id"`) {
			t.Errorf("the real one: %s", line)
		}
	}
	if len(bad) < 60 {
		t.Errorf("%d changes only", len(bad))
	}
}

// change is a record in which a field was changed.
type change struct{ field, line string }

func lines(all []change) string {
	var out strings.Builder
	for _, c := range all {
		out.WriteString(c.line + "\n")
	}
	return out.String()
}

// filter sends lines through a stage; it has as many to say.
func (h *home) filter(t *testing.T, stage, in string) []string {
	t.Helper()
	cmd := exec.Command("bash", "-c", stage+" 2>/dev/null")
	cmd.Env, cmd.Stdin = h.env, strings.NewReader(in)
	out, _ := cmd.Output() // error records are what some lines become
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(got) != strings.Count(in, "\n") {
		t.Fatalf("%s: %d lines of %d: %s", stage, len(got), strings.Count(in, "\n"), out)
	}
	return got
}

// object is a record as values.
func object(t *testing.T, line []byte) map[string]any {
	t.Helper()
	v, err := record.JQValue(line)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, line)
	}
	return m
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := record.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// changed is the record with each of its values changed, dropped, and joined by another; and so each claim of the
// signed text.
func changed(t *testing.T, line, signed string) []change {
	t.Helper()
	var out []change
	all := object(t, []byte(line))
	add := func(field string) { out = append(out, change{field, encoded(t, all)}) }
	var walk func(m map[string]any, at string)
	walk = func(m map[string]any, at string) {
		for name, v := range m {
			field := strings.TrimPrefix(at+"."+name, ".")
			if sub, ok := v.(map[string]any); ok {
				walk(sub, field)
			}
			m[name] = another(v)
			add(field)
			delete(m, name)
			add(field)
			m[name] = v
			if text, ok := v.(string); ok && name == signed {
				for _, forged := range reclaimed(t, text) {
					m[name] = forged.line
					out = append(out, change{field + ": " + forged.field, encoded(t, all)})
				}
				m[name] = v
			}
		}
		if at == "verdict" || at == "" && signed == "permit" {
			return // what a gate adds there says nothing to claw-exec, and is sealed with the rest
		}
		m["added"] = "x"
		add(at + ".added")
		delete(m, "added")
	}
	walk(all, "")
	return out
}

// another is another value of the same kind.
func another(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case int:
		return v + 1
	}
	return "x"
}

// reclaimed is a signed text with each of its claims changed, or dropped, under the same signature.
func reclaimed(t *testing.T, text string) (out []change) {
	t.Helper()
	parts := strings.Split(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(parts) != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	claims := object(t, raw)
	add := func(name string) {
		out = append(out,
			change{name, fmt.Sprintf("v1.%s.%s", base64.RawURLEncoding.EncodeToString([]byte(encoded(t, claims))),
				parts[2])})
	}
	for name, v := range claims {
		claims[name] = another(v)
		add(name)
		delete(claims, name)
		add(name)
		claims[name] = v
	}
	return out
}

// swapped is a record with fields of another one: those of the path, from the top on.
func swapped(t *testing.T, line, from string, path ...string) (out []change) {
	t.Helper()
	for i := range path {
		whole := object(t, []byte(line))
		a, b := whole, object(t, []byte(from))
		for _, name := range path[:i] {
			a, b = a[name].(map[string]any), b[name].(map[string]any)
		}
		if b[path[i]] == nil {
			t.Fatalf("no %s in %s", path[i], from)
		}
		a[path[i]] = b[path[i]]
		out = append(out, change{path[i] + " of another", encoded(t, whole)})
	}
	return out
}
