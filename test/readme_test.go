package test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestREADMEExamples runs the README's examples, as they stand there, in a fresh home.
func TestREADMEExamples(t *testing.T) { runExamples(t, newHome(t), "../README.md", 4) }

// TestChainCanBeVerifiedWithoutClawsh runs the lines of SCHEMAS.md that need jq and sha256sum alone, over a log that is
// intact and over one that is not.
func TestChainCanBeVerifiedWithoutClawsh(t *testing.T) {
	h := newHome(t)
	for range 3 {
		h.run(t, "clawsh", "tool", "run", "time")
	}
	if out := runExamples(t, h, "../docs/SCHEMAS.md", 1); out != "" {
		t.Errorf("an intact log: %s", out)
	}
	home := strings.TrimPrefix(h.env[0], "HOME=")
	log, err := os.ReadFile(home + "/.clawsh/tool_receipts.log")
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(home+"/.clawsh/tool_receipts.log", []byte(strings.Replace(string(log), `"risk":"low"`, `"risk":"high"`, 1)), 0o600)
	if out := runExamples(t, h, "../docs/SCHEMAS.md", 1); !strings.Contains(out, "broken: ") {
		t.Errorf("an edited log: %q", out)
	}
}

// runExamples runs the marked examples of a page and returns what they print.
func runExamples(t *testing.T, h *home, page string, atLeast int) (printed string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	if len(blocks) < atLeast {
		t.Fatalf("%d examples: has their marking changed?", len(blocks))
	}
	for _, block := range blocks {
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", block[1])
		cmd.Env, cmd.Dir = h.env, strings.TrimPrefix(h.env[0], "HOME=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, block[1], out)
		}
		if strings.Contains(string(out), "error:") {
			t.Errorf("an example complains:\n%s\n%s", block[1], out)
		}
		printed += string(out)
	}
	return printed
}

// TestDemo runs what "make demo" runs.
func TestDemo(t *testing.T) {
	out, err := exec.Command("./demo.sh", bin).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"README.md", "main.go", "file_list", "1 receipt"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
