package test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestREADMEExamples runs the README's examples, as they stand there, in a fresh home.
func TestREADMEExamples(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d examples: has their marking changed?", len(blocks))
	}
	h := newHome(t)
	for _, block := range blocks {
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", block[1])
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, block[1], out)
		}
		if strings.Contains(string(out), "error:") {
			t.Errorf("an example complains:\n%s\n%s", block[1], out)
		}
	}
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
