package test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// good holds arguments with which each command succeeds in a fresh home with one turn behind it. A command that is in
// no list here fails the test: nobody adds a command without its contract. What begins with $ is filled in.
var good = map[string][]string{
	"clawsh":                     {"-n", "hello"},
	"clawsh agent":               {"-n", "-m", "hello"},
	"clawsh init":                {},
	"clawsh onboard":             {"--kind", "mock", "--autonomy", "supervised"},
	"clawsh config validate":     {},
	"clawsh config show":         {},
	"clawsh doctor":              {},
	"clawsh estop":               {"--clear", "--yes"},
	"clawsh tool run":            {"time", "--json", "{}"},
	"clawsh tool list":           {},
	"clawsh tool show":           {"time"},
	"clawsh provider list":       {},
	"clawsh provider test":       {"local"},
	"clawsh provider models":     {"local"},
	"clawsh memory list":         {},
	"clawsh memory search":       {"hello"},
	"clawsh memory show":         {"$CONV"},
	"clawsh memory clear":        {"--yes"},
	"clawsh session compact":     {},
	"clawsh receipt list":        {},
	"clawsh receipt show":        {"$RECEIPT"},
	"clawsh receipt verify":      {},
	"clawsh receipt keys":        {},
	"clawsh receipt checkpoint":  {},
	"clawsh receipt prove":       {"$RECEIPT"},
	"clawsh receipt check-proof": {"$PROOF", "--key", "$PUBLIC"},
	"clawsh receipt recover":     {},
	"clawsh receipt set-aside":   {"--reason", "$DAMAGE", "--yes"},
	"clawsh policy":              {},
	"clawsh help":                {},
	"clawsh completion":          {"bash"},
	"claw-llm list":              {},
	"claw-llm test":              {"local"},
	"claw-llm models":            {"local"},
	"claw-llm help":              {"list"},
	"claw-llm completion":        {"zsh"},
	"claw-exec sandbox":          {},
	"claw-gate policy":           {},
	"claw-gate policy rules":     {},
	"clawsh policy rules":        {},

	"claw-gate policy rules remove": {"$RULE"},
	"clawsh policy rules remove":    {"$RULE"},

	"claw-gate audit":          {},
	"claw-gate help":           {},
	"claw-gate completion":     {"fish"},
	"claw-exec list":           {},
	"claw-exec show":           {"time"},
	"claw-exec help":           {},
	"claw-exec completion":     {"powershell"},
	"claw-exec keys":           {},
	"claw-exec accept":         {"$GATE"},
	"claw-receipt accept":      {"$EXECUTOR"},
	"claw-gate keys":           {},
	"claw-receipt verify":      {},
	"claw-receipt list":        {},
	"claw-receipt show":        {"$RECEIPT"},
	"claw-receipt keys":        {},
	"claw-receipt checkpoint":  {},
	"claw-receipt prove":       {"$RECEIPT"},
	"claw-receipt check-proof": {"$PROOF", "--key", "$PUBLIC"},
	"claw-receipt recover":     {},
	"claw-receipt set-aside":   {"--reason", "$DAMAGE", "--yes"},
	"claw-receipt help":        {},
	"claw-receipt completion":  {"bash"},
	"claw-mem list":            {},
	"claw-mem search":          {"hello"},
	"claw-mem show":            {"$CONV"},
	"claw-mem clear":           {"--yes"},
	"claw-mem context":         {"--latest"},
	"claw-mem help":            {},
	"claw-mem completion":      {"bash"},
	"claw-loop compact":        {},
	"claw-loop help":           {},
	"claw-loop completion":     {"bash"},
	"clawsh memory check":      {},
	"clawsh memory backup":     {"$HOME/copy", "--force"},
	"clawsh session list":      {},
	"clawsh session":           {},
	"clawsh config":            {},
	"clawsh session show":      {},
	"clawsh session delete":    {"$CONV", "--yes"},
	"clawsh session reset":     {},
	"clawsh reset":             {},
	"clawsh usage":             {"--by", "model"},
	"clawsh workspace list":    {},
	"clawsh workspace trust":   {"$HOME/clawsh-workspace"},
	"clawsh workspace forget":  {"$TRUSTED"},
	"claw-mem archive":         {"$CONV"},
	"claw-mem delete":          {"$CONV", "--yes"},
	"claw-mem check":           {},
	"claw-mem usage":           {"--by", "turn"},
	"claw-mem backup":          {"$HOME/copy", "--force"},
}

// filters write records, not an answer: for them the contract is about wrong usage only, and their streams are tested
// by the scripts.
var filters = map[string]bool{"claw-llm": true, "claw-gate": true, "claw-gate check": true, "claw-exec": true,
	"claw-receipt": true,
	"claw-mem":     true, "claw-mem export": true, "claw-mem import": true, "clawsh session export": true,
	"claw-loop": true}

// consuming commands succeed once in a home.
var consuming = map[string]bool{"clawsh session delete": true, "clawsh session reset": true, "clawsh reset": true,
	"claw-mem delete":        true,
	"claw-receipt set-aside": true, "clawsh receipt set-aside": true,
	"clawsh workspace forget": true, "clawsh policy rules remove": true, "claw-gate policy rules remove": true}

// home is a scratch home with one turn behind it.
type home struct {
	env                []string
	dir, conv, receipt string
}

// run runs a program there and returns what it printed and its exit code.
func (h *home) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	cmd.Env = h.env
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{dir: dir, env: []string{"HOME=" + dir, "CLAWSH_HOME=" + dir + "/.clawsh", "PATH=" + bin + ":" +
		os.Getenv("PATH"), "TMPDIR=" + dir, "TZ=UTC"}}
	if _, errOut, code := h.run(t, "clawsh", "init"); code != 0 {
		t.Fatalf("init: %s", errOut)
	}
	out, errOut, code := h.run(t, "clawsh", "-n", "hello, what files are here?", "--output-format", "json", "--jq",
		`.data | .conversation_id, .receipts[0]`)
	ids := strings.Fields(out)
	if code != 0 || len(ids) != 2 {
		t.Fatalf("first turn: exit %d, %q, %s", code, out, errOut)
	}
	h.conv, h.receipt = ids[0], ids[1]
	return h
}

func (h *home) fill(t *testing.T, args []string) []string {
	t.Helper()
	var out []string
	for _, a := range args {
		switch a {
		case "$PROOF":
			a = h.keep(t, "claw-receipt", "prove", h.receipt)
		case "$PUBLIC":
			a = h.keep(t, "claw-receipt", "keys")
		case "$GATE":
			a = h.keep(t, "claw-gate", "keys")
		case "$EXECUTOR":
			a = h.keep(t, "claw-exec", "keys")
		case "$RULE":
			a = "greets"
			h.rule(t, a)
		case "$DAMAGE":
			a = "a receipt was changed"
			h.damage(t)
		case "$TRUSTED":
			a = h.dir + "/clawsh-workspace"
			h.run(t, "clawsh", "workspace", "trust", a)
		}
		out = append(out, strings.NewReplacer("$CONV", h.conv, "$RECEIPT", h.receipt, "$HOME", h.dir).Replace(a))
	}
	return out
}

// damage changes the first receipt.
func (h *home) damage(t *testing.T) {
	t.Helper()
	path := filepath.Join(h.dir, ".clawsh", "tool_receipts.log")
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(log, []byte(`"risk":"low"`), []byte(`"risk":"high"`), 1),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// rule writes a rule as the question does.
func (h *home) rule(t *testing.T, name string) {
	t.Helper()
	text := "[[security.rules]]\nname = \"" + name +
		"\"\nwhen = '.tool == \"file_write\" and .args.path == \"hello.txt\"'\ndecide = \"allow\"\nreason = \"said so\"\n" +
		"match = ['{\"tool\":\"file_write\",\"args\":{\"path\":\"hello.txt\",\"content\":\"x\"}}']\nnot_match = ['{\"tool\":\"time\",\"args\":{}}']\n"
	if err := os.WriteFile(filepath.Join(h.dir, ".clawsh", "rules.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keep runs a program and returns the name of a file with its output.
func (h *home) keep(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, code := h.run(t, args...)
	if code != 0 {
		t.Fatalf("%v: %s", args, errOut)
	}
	path := filepath.Join(t.TempDir(), args[1])
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// commandTable asks a program for its command table.
func commandTable(t *testing.T, h *home, program string) []tableRow {
	t.Helper()
	out, _, code := h.run(t, program, "help", "--output-format", "json")
	var env struct {
		Data struct {
			Commands []tableRow `json:"commands"`
		} `json:"data"`
	}
	if err := record.DecodeOpen([]byte(out), &env); err != nil || code != 0 || len(env.Data.Commands) < 3 {
		t.Fatalf("%s help: exit %d, %v: %s", program, code, err, out)
	}
	return env.Data.Commands
}

type tableRow struct {
	Name     string `json:"name"`
	Envelope string `json:"envelope"`
	Summary  string `json:"summary"`
	Example  string `json:"example"`
	HandOver bool   `json:"hand_over"`
}

// TestEveryCommandKeepsTheContract walks all commands of all programs, in both formats, with good and with bad usage.
func TestEveryCommandKeepsTheContract(t *testing.T) {
	t.Parallel()
	listed, nth := newHome(t), 0
	for _, program := range binaries(t) {
		for _, row := range commandTable(t, listed, program) {
			name, n := strings.TrimSpace(program+" "+row.Name), nth
			nth++
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				if row.Summary == "" || row.Example == "" {
					t.Error("no summary or no example")
				}
				checkHelp(t, listed, name)
				checkBadUsage(t, listed, name, row)
				if args, ok := good[name]; ok && need.OneIn(2, n) {
					checkGood(t, newHome(t), name, row, args)
				} else if !ok && !filters[name] {
					t.Errorf("%s has no good usage in this test: add arguments with which it succeeds to good", name)
				}
			})
		}
	}
}

func checkHelp(t *testing.T, h *home, name string) {
	out, _, code := h.run(t, append(strings.Fields(name), "--help")...)
	if code != 0 || !strings.Contains(out, "Example:") {
		t.Errorf("--help: exit %d, or no example:\n%s", code, out)
	}
}

func checkGood(t *testing.T, h *home, name string, row tableRow, args []string) {
	words := append(strings.Fields(name), h.fill(t, args)...)
	anew := func() {
		if consuming[name] {
			h = newHome(t)
			words = append(strings.Fields(name), h.fill(t, args)...)
		}
	}
	out, errOut, code := h.run(t, append(words, "--output-format", "json")...)
	env := checkEnvelope(t, words, out, code)
	checkData(t, out)
	if code != 0 || env.Error != nil || env.Command != wantCommand(row) {
		t.Errorf("%v: exit %d, command %q, want %q: %s", words, code, env.Command, wantCommand(row), errOut)
	}
	anew()
	out, errOut, code = h.run(t, words...)
	if code != 0 || out == "" {
		t.Errorf("%v: exit %d, %d bytes: %s", words, code, len(out), errOut)
	}
	if strings.HasPrefix(out, `{"schema_version"`) {
		t.Errorf("%v: JSON in text format", words)
	}
	anew()
	out, errOut, code = h.run(t, append(words, "--jq", ".schema_version")...)
	if code != 0 || out != "2.0\n" {
		t.Errorf("%v --jq: exit %d, %q, %s", words, code, out, errOut)
	}
}

// wantCommand is the name under which a command reports: the porcelain's, also when the stage is called itself.
func wantCommand(row tableRow) string {
	return row.Envelope
}

func checkBadUsage(t *testing.T, h *home, name string, row tableRow) {
	words := append(strings.Fields(name), "--no-such-flag")
	out, errOut, code := h.run(t, words...)
	if code != 64 || out != "" || !strings.Contains(errOut, "error: ") || !strings.Contains(errOut, "no-such-flag") {
		t.Errorf("%v: exit %d, stdout %q, stderr %q", words, code, out, errOut)
	}
	words = append(words, "--output-format", "json")
	out, _, code = h.run(t, words...)
	if env := checkEnvelope(t, words, out, code); code != 64 || env.Error == nil || env.Error.Code != "usage" {
		t.Errorf("%v: exit %d: %s", words, code, out)
	}
	words = append(strings.Fields(name), "--output-format", "yaml")
	if _, errOut, code := h.run(t, words...); code != 64 || !strings.Contains(errOut, "want text or json") {
		t.Errorf("%v: exit %d: %s", words, code, errOut)
	}
	words = append(strings.Fields(name), "--jq", "][")
	if _, errOut, code := h.run(t, words...); code != 64 || !strings.Contains(errOut, "jq") {
		t.Errorf("%v: exit %d: %s", words, code, errOut)
	}
}

type envelopeLine struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
	Error    *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// checkEnvelope checks that out is one valid envelope that tells the truth about the exit code.
func checkEnvelope(t *testing.T, words []string, out string, code int) envelopeLine {
	t.Helper()
	var env envelopeLine
	if strings.Count(out, "\n") != 1 {
		t.Errorf("%v: want one line of JSON, got %q", words, out)
		return env
	}
	if err := validate([]byte(strings.TrimSpace(out))); err != nil {
		t.Errorf("%v: %v\n%s", words, err, out)
	}
	record.DecodeOpen([]byte(out), &env)
	if env.ExitCode != code {
		t.Errorf("%v: exit_code %d, really %d", words, env.ExitCode, code)
	}
	return env
}
