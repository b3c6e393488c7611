package test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"clawsh/docs/manual"
	"clawsh/lib/record"
)

// walk is the text of a section of CONTRIBUTING.md, and what it says to write.
func walk(t *testing.T, heading string) []string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "../CONTRIBUTING.md"), "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^   ```(?:go|text)\n(.*?)^   ```$").FindAllStringSubmatch(text, -1) {
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

// change puts a file as it is, or as it was put before, but for one place.
func (o *overlay) change(t *testing.T, path, old, new string) {
	t.Helper()
	text := read(t, "../"+path)
	if full, err := filepath.Abs(filepath.Join("..", path)); err == nil && o.replaces[full] != "" {
		text = read(t, o.replaces[full])
	}
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
	cmd := exec.Command("go", append([]string{"build", "-overlay", o.dir + "/overlay.json", "-o", o.dir + "/"},
		programs...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestWalkOfATool: two files and two rows make a tool, which the model is offered, the gate judges and the executor
// runs.
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
	h.allow(t, "tools_allow", "roll")
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
		call := `{"v":1,"kind":"tool_call","id":"call-1","conversation_id":"conv-1","tool":"roll","args":` + args +
			"}\n"
		result := h.filter(t, o.dir+"/claw-gate | "+o.dir+"/claw-exec", call)[0]
		if !strings.Contains(result, want) ||
			strings.Contains(result, `"status":"allowed"`) != (args == `{"sides":100}`) {
			t.Errorf("%s: %s", args, result)
		}
	}
}

// TestWalkOfAProgram: one file makes a program known to the policy: which of its words are files, and what it only
// reads.
func TestWalkOfAProgram(t *testing.T) {
	t.Parallel()
	text := walk(t, "How to add a program to the policy")
	if len(text) != 1 {
		t.Fatalf("the walk of a program says to write %d things: %q", len(text), text)
	}
	o := &overlay{t.TempDir(), map[string]string{}}
	o.put(t, "lib/policy/programs/look.txt", text[0])
	o.build(t, "claw-gate", "clawsh")

	h := newHome(t)
	h.allow(t, "allowed_commands", "look")
	h.configure(t, func(text string) string {
		return strings.Replace(text, `harmless = "ask"`, `harmless = "low"`, 1)
	})
	if out := h.filter(t, o.dir+"/clawsh config validate </dev/null && echo ok", "\n\n"); out[1] != "ok" {
		t.Errorf("its examples do not hold: %q", out)
	}
	for command, want := range map[string]string{
		"look -f pre words":             `"rule":"command.harmless"`,
		"look --term=x pre words":       `"rule":"command.harmless"`,
		"look pre words | sort -u":      `"rule":"command.harmless"`,
		"look -b pre words":             `look: unknown option \"-b\"`,
		"look --binary pre words":       `look: unknown option \"--binary\"`,
		"look pre words more":           "look has too many arguments",
		"look pre /etc/passwd":          `"rule":"path.forbidden"`,
		"look pre ../x":                 `"rule":"path.outside"`,
		"look pre words > .git/hooks/x": `"rule":"path.protected"`,
	} {
		args := `{"command":` + encoded(t, command) + `}`
		call := `{"v":1,"kind":"tool_call","id":"call-1","conversation_id":"conv-1","tool":"shell","args":` + args +
			"}\n"
		verdict := h.filter(t, o.dir+"/claw-gate", call)[0]
		if !strings.Contains(verdict, want) ||
			strings.Contains(verdict, `"decision":"allow"`) != strings.Contains(want, "harmless") {
			t.Errorf("%s: %s", command, verdict)
		}
	}
}

// allow puts a name into a list of the configuration that init writes.
func (h *home) allow(t *testing.T, list, name string) {
	t.Helper()
	h.configure(t, func(text string) string {
		return strings.Replace(text, list+" = [", list+` = [ "`+name+`",`, 1)
	})
}

// configure changes the configuration.
func (h *home) configure(t *testing.T, change func(text string) string) {
	t.Helper()
	path := h.dir + "/.clawsh/config.toml"
	text := read(t, path)
	changed := change(text)
	if changed == text {
		t.Fatalf("%s is as it was", path)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWalkOfAProvider: a folder and two rows make a kind of provider, which the configuration takes and claw-llm
// speaks.
func TestWalkOfAProvider(t *testing.T) {
	t.Parallel()
	text := walk(t, "How to add a provider")
	if len(text) != 3 {
		t.Fatalf("the walk of a provider says to write %d things: %q", len(text), text)
	}
	o := &overlay{t.TempDir(), map[string]string{}}
	o.put(t, "lib/provider/dialect/parrot/parrot.go", text[0])
	o.change(t, "lib/provider/provider.go", "\t\"openai-compatible\": chat.Dialect{},\n",
		"\t\"openai-compatible\": chat.Dialect{},\n"+text[1])
	o.change(t, "lib/provider/provider.go", "import (\n", "import (\n\t\"clawsh/lib/provider/dialect/parrot\"\n")
	o.change(t, "lib/config/kinds.go", "\t{name: \"reliable\"", text[2]+"\t{name: \"reliable\"")
	o.build(t, "claw-llm")

	var asked atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked.Store(r.URL.Path + " " + string(body))
		switch {
		case strings.Contains(string(body), "mumble"):
			io.WriteString(w, `{"say":`)
		case strings.Contains(string(body), "bite"):
			http.Error(w, `{"error":"no seed left"}`, http.StatusUnauthorized)
		default:
			io.WriteString(w, `{"say":"Polly","mood":"fine"}`)
		}
	}))
	t.Cleanup(srv.Close)
	h := newHome(t)
	h.configure(t, func(text string) string {
		return text + "\n[providers.models.polly]\nkind = \"parrot\"\nbase_url = \"" + srv.URL +
			"/v1\"\nmodel = \"ara\"\n"
	})
	for said, want := range map[string]string{
		"hello":  `"final_text":"Polly"`,
		"mumble": `"code":"provider.bad_response"`,
		"bite":   `"code":"provider.auth"`,
	} {
		request := `{"v":1,"kind":"request","id":"req-1","provider":"polly","conversation_id":"conv-1","messages":[{"role":"user","content":"` + said + `"}]}` + "\n"
		got := h.filter(t, o.dir+"/claw-llm", request)[0]
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", said, got, want)
		}
		if want := `/v1/squawk {"to":"ara","said":["` + said + `"]}`; asked.Load() != want {
			t.Errorf("the server was asked %s, want %s", asked.Load(), want)
		}
	}
	h.configure(t, func(text string) string { return text + "body = { said = \"nothing\" }\n" })
	if out := h.filter(t, o.dir+"/claw-llm test polly 2>&1 | tail -1", "\n")[0]; !strings.Contains(out, "body.said") {
		t.Errorf("a field of clawsh's own in body: %s", out)
	}
}

// TestWalkOfARecord: two files and two rows make a kind of record, which the memory stores, finds and exports, and
// takes back.
func TestWalkOfARecord(t *testing.T) {
	t.Parallel()
	text := walk(t, "How to add a kind of record")
	if len(text) != 4 {
		t.Fatalf("the walk of a record says to write %d things: %q", len(text), text)
	}
	o := &overlay{t.TempDir(), map[string]string{}}
	o.put(t, "lib/record/note.go", text[0])
	o.change(t, "lib/record/table.go", "\t{KindReserve,", text[1]+"\t{KindReserve,")
	o.put(t, "lib/memory/note.go", text[2])
	o.change(t, "lib/memory/kinds.go", "\trecord.KindSummary:", text[3]+"\trecord.KindSummary:")
	o.build(t, "claw-mem")

	h := newHome(t)
	mem := o.dir + "/claw-mem"
	note := `{"v":1,"kind":"note","id":"note-1","conversation_id":"conv-1","turn_id":"turn-1","ts":"2026-01-02T03:04:05.000Z","content":"Ask Kim."}`
	if got := h.filter(t, mem, note+"\n"); got[0] != note {
		t.Errorf("stored: %s, want it as it was", got[0])
	}
	for _, bad := range []string{
		`{"v":1,"kind":"note","id":"note-2","conversation_id":"conv-1","content":""}`,
		`{"v":1,"kind":"note","id":"note-1","conversation_id":"conv-1","content":"Ask Jo."}`,
	} {
		if got := h.filter(t, mem, bad+"\n"); !strings.Contains(got[0], `"kind":"error"`) {
			t.Errorf("%s: %s", bad, got[0])
		}
	}
	if got := h.filter(t, mem+" search Kim --output-format json --jq .data.hits[].id", "\n"); got[0] != "note-1" {
		t.Errorf("found: %s", got[0])
	}
	exported := h.filter(t, mem+" export | tail -1", "\n")[0]
	if exported != note {
		t.Errorf("exported: %s", exported)
	}
	if got := newHome(t).filter(t, mem+" >/dev/null; "+mem+" export | tail -1", exported+"\n"); got[0] != note {
		t.Errorf("taken back: %s", got[0])
	}
}

// TestWalkOfACommand: a file and a row make a command of a stage, and clawsh's from its table.
func TestWalkOfACommand(t *testing.T) {
	t.Parallel()
	text := walk(t, "How to add a command")
	if len(text) != 2 {
		t.Fatalf("the walk of a command says to write %d things: %q", len(text), text)
	}
	o := &overlay{t.TempDir(), map[string]string{}}
	o.put(t, "cmd/claw-gate/level.go", text[0])
	o.change(t, "cmd/claw-gate/main.go", "keys()}", "keys(), "+strings.TrimSpace(text[1])+"}")
	o.build(t, "claw-gate")
	for _, program := range []string{"claw-llm", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"} {
		if err := os.Symlink(bin+"/"+program, o.dir+"/"+program); err != nil {
			t.Fatal(err)
		}
	}
	stages, err := manual.Stages(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := manual.Offers(stages)
	if err != nil {
		t.Fatal(err)
	}
	o.put(t, manual.OffersFile, table)
	o.build(t, "clawsh")

	h := newHome(t)
	for _, command := range []string{"claw-gate level", "clawsh policy level"} {
		for words, want := range map[string]string{
			"":                     "supervised",
			" --jq .command":       "policy level",
			" --jq .data.autonomy": "supervised",
			" high 2>&1": command[:strings.Index(command, " ")] + ": error: " + command +
				" takes no argument \"high\"",
		} {
			if got := h.filter(t, o.dir+"/"+command+words+" | head -1", "\n")[0]; got != want {
				t.Errorf("%s%s: %s, want %s", command, words, got, want)
			}
		}
	}
}
