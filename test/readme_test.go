package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestREADMEExamples runs the README's examples, as they stand there, in a fresh home.
func TestREADMEExamples(t *testing.T) { runExamples(t, newHome(t), "../README.md", 4) }

// TestGuideExamples does the same with the guide's.
func TestGuideExamples(t *testing.T) { runExamples(t, newHome(t), "../docs/GUIDE.md", 6) }

// TestREADMETranscript runs what the README shows, in the project that it is about; an ellipsis stands for what differs
// each time.
func TestREADMETranscript(t *testing.T) {
	t.Parallel()
	h := &home{dir: t.TempDir()}
	h.env = []string{"HOME=" + h.dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "TZ=UTC"}
	h.run(t, "clawsh", "init")
	for name, text := range map[string]string{"README.md": "# A small project\n",
		"main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(h.dir+"/clawsh-workspace/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```console\n(.*?)```").FindSubmatch(page)
	if shown == nil {
		t.Fatal("no transcript")
	}
	for step := range strings.SplitSeq("\n"+string(shown[1]), "\n$ ") {
		line, want, _ := strings.Cut(step, "\n")
		if line == "" {
			continue
		}
		cmd := exec.Command("bash", "-c", line)
		cmd.Env, cmd.Dir = h.env, h.dir
		out, err := cmd.CombinedOutput()
		pattern := regexp.MustCompile(` +`).ReplaceAllString(regexp.QuoteMeta(strings.TrimRight(want, "\n")), ` +`)
		if !regexp.MustCompile(`^ *` + strings.ReplaceAll(pattern, "…", `\S+`) + `\n$`).Match(out) {
			t.Errorf("%s (%v):\n%s\nis shown as\n%s", line, err, out, want)
		}
	}
}

// TestLinks: what the documents link to is there, the headings too.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, _ := filepath.Glob("../docs/*.md")
	tops, _ := filepath.Glob("../*.md")
	links := 0
	for _, page := range append(pages, tops...) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(string(b), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			text, err := os.ReadFile(target)
			if err != nil || anchor != "" && !hasHeading(string(text), anchor) {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
	if links < 40 {
		t.Errorf("only %d links", links)
	}
}

// hasHeading tells whether a page has a heading that is linked to so.
func hasHeading(text, anchor string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		slug := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestChainCanBeVerifiedWithoutClawsh runs the lines of SCHEMAS.md that need jq and sha256sum alone, over a log that is
// intact and over one that is not.
func TestChainCanBeVerifiedWithoutClawsh(t *testing.T) {
	t.Parallel()
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
	os.WriteFile(home+"/.clawsh/tool_receipts.log",
		[]byte(strings.Replace(string(log), `"risk":"low"`, `"risk":"high"`, 1)), 0o600)
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
	t.Parallel()
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
