package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/test/corpus"
	"clawsh/test/need"
)

// TestOrdinaryCommandsRun runs the ordinary commands of the corpus, permitted at medium risk, through the real gate and
// the real executor: what the gate took for understood is not refused when its words are known. Whether a command finds
// what it looks for is its own affair.
func TestOrdinaryCommandsRun(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	cases, err := corpus.Load("../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	w := filepath.Join(home, "clawsh-workspace")
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	setUp := exec.Command("sh", "-ec", `clawsh init; cd clawsh-workspace; mkdir src data logs docs tmp links; echo '# A' > README.md; echo 'package main' > src/main.go
		echo 1,2 > data/a.csv; echo 1,2 > data/b.csv; echo '{"a":1,"items":[]}' > data/x.json; echo 'ERROR x' > logs/app.log; cp logs/app.log logs/error.log; gzip -c logs/app.log > logs/old.log.gz
		echo m > go.mod; echo y > config.yaml; ln -s ../README.md links/readme; git init -q . || true
		printf '\n[[security.rules]]\nname = "try"\nwhen = ".risk == \\"medium\\""\ndecide = "allow"\n' >> ../.clawsh/config.toml`)
	setUp.Dir, setUp.Env = home, env
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var in bytes.Buffer
	for i, c := range cases {
		if c.File != corpus.Ordinary && (c.File != corpus.Work || c.Want != corpus.LevelMedium) || !need.OneIn(4, i) {
			continue
		}
		args, err := record.Encode(map[string]string{"command": strings.NewReplacer("{{W}}", w, "{{HOME}}", home).
			Replace(c.Command)})
		if err != nil {
			t.Fatal(err)
		}
		line, err := record.Encode(record.ToolCall{V: record.Version, Kind: record.KindToolCall,
			ID: "call-" + strconv.Itoa(i+1), ConversationID: "conv-1", Tool: "shell", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command("sh", "-c", "claw-gate | claw-exec")
	cmd.Dir, cmd.Env, cmd.Stdin = home, env, &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ran, want := 0, 80
	if need.Soak() {
		want = 340
	}
	for line := range bytes.Lines(out) {
		var r record.ToolResult
		if err := record.DecodeOpen(bytes.TrimSpace(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Status == record.StatusDenied || strings.Contains(r.Error, "not supported") {
			t.Errorf("%s: %s", r.Args, r.Error)
		}
		if r.Status == record.StatusAllowed {
			ran++
		}
	}
	if ran < want {
		t.Errorf("only %d of them ran", ran)
	}
}
