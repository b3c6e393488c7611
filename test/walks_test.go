package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// walk is the text of a section of CONTRIBUTING.md, and what it says to write.
func walk(t *testing.T, heading string) []string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "../CONTRIBUTING.md"), "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^   ```go\n(.*?)^   ```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, regexp.MustCompile(`(?m)^   `).ReplaceAllString(m[1], ""))
	}
	if !found || len(blocks) == 0 {
		t.Fatalf("nothing to write under %q", heading)
	}
	return blocks
}

// overlay are files of the source as they would be: nothing of the source changes.
type overlay struct {
	dir      string
	replaces map[string]string
}

func (o *overlay) put(t *testing.T, path, text string) {
	t.Helper()
	full, err := filepath.Abs(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(o.dir, strings.ReplaceAll(path, "/", "-"))
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.replaces[full] = temp
}

// change puts a file as it is but for one place.
func (o *overlay) change(t *testing.T, path, old, new string) {
	t.Helper()
	text := read(t, "../"+path)
	at := strings.LastIndex(text, old)
	if at < 0 {
		t.Fatalf("%s has no %q", path, old)
	}
	o.put(t, path, text[:at]+new+text[at+len(old):])
}

// build builds programs with the overlay.
func (o *overlay) build(t *testing.T, programs ...string) {
	t.Helper()
	spec, err := record.Encode(map[string]map[string]string{"Replace": o.replaces})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.dir+"/overlay.json", spec, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range programs {
		programs[i] = "clawsh/cmd/" + programs[i]
	}
	cmd := exec.Command("go", append([]string{"build", "-overlay", o.dir + "/overlay.json", "-o", o.dir + "/"}, programs...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestWalkOfATool: two files and two rows make a tool, which the model is offered, the gate judges and the executor runs.
func TestWalkOfATool(t *testing.T) {
	t.Parallel()
	text := walk(t, "How to add a tool")
	if len(text) != 4 {
		t.Fatalf("the walk of a tool says to write %d things: %q", len(text), text)
	}
	o := &overlay{t.TempDir(), map[string]string{}}
	o.put(t, "lib/card/roll.go", text[0])
	o.change(t, "lib/card/table.go", "\n}\n", "\n"+text[1]+"}\n")
	o.put(t, "lib/tool/roll.go", text[2])
	o.change(t, "lib/tool/tool.go", "bind(askUser)}", "bind(askUser), "+strings.TrimSpace(text[3])+"}")
	o.build(t, "claw-gate", "claw-exec")

	h := newHome(t)
	h.allow(t, "roll")
	listed := h.filter(t, o.dir+"/claw-exec list --output-format json --jq '.data.tools[-1]' </dev/null", "\n")
	want := `{"active":true,"description":"Roll a die.","name":"roll","parameters":{"additionalProperties":false,"properties":` +
		`{"sides":{"maximum":100,"minimum":2,"type":"integer"}},"required":["sides"],"type":"object"}}`
	if len(listed) != 1 || listed[0] != want {
		t.Errorf("claw-exec list: %q, want %q", listed, want)
	}
	for args, want := range map[string]string{
		`{"sides":1}`:   "want sides from 2 to 100",
		`{"sides":100}`: " of 100",
		`{"side":3}`:    `unknown field \"side\"; it takes sides`,
		`{}`:            "sides is missing; it takes sides",
	} {
		call := `{"v":1,"kind":"tool_call","id":"call-1","conversation_id":"conv-1","tool":"roll","args":` + args + "}\n"
		result := h.filter(t, o.dir+"/claw-gate | "+o.dir+"/claw-exec", call)[0]
		if !strings.Contains(result, want) || strings.Contains(result, `"status":"allowed"`) != (args == `{"sides":100}`) {
			t.Errorf("%s: %s", args, result)
		}
	}
}

// allow lets the model use a tool, as the configuration that init writes does not.
func (h *home) allow(t *testing.T, tool string) {
	t.Helper()
	path := h.dir + "/.clawsh/config.toml"
	text := read(t, path)
	allowed := strings.Replace(text, "tools_allow = [", `tools_allow = [ "`+tool+`",`, 1)
	if allowed == text {
		t.Fatalf("%s has no list of tools", path)
	}
	if err := os.WriteFile(path, []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
}
