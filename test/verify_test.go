package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/test/need"
)

// independent runs testdata/verify/verify.sh, which shares nothing with our code.
func (h *home) independent(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("../testdata/verify/verify.sh", args...)
	cmd.Env = h.env
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.HasSuffix(out, []byte("ok\n")) {
		err = fmt.Errorf("it ended without ok: %s", out)
	}
	return string(out), err
}

// calls sends n calls through the tool chain.
func (h *home) calls(t *testing.T, from, n int) {
	t.Helper()
	var in strings.Builder
	for i := from; i < from+n; i++ {
		tool, args := "time", `{}`
		switch i % 4 {
		case 1:
			tool, args = "file_read", `{"path":"absent"}`
		case 2:
			tool, args = "file_read", `{"path":"/etc/passwd"}`
		case 3:
			tool = "no\\u001b tool \\\"é"
		}
		fmt.Fprintf(&in, `{"v":1,"kind":"tool_call","id":"call-%d","conversation_id":"conv-%d","tool":"%s","args":%s}`+
			"\n", i, i/10, tool, args)
	}
	cmd := exec.Command("bash", "-c", "set -o pipefail; claw-gate 2>/dev/null | claw-exec | claw-receipt")
	cmd.Env, cmd.Stdin = h.env, strings.NewReader(in.String())
	out, err := cmd.Output()
	if got := bytes.Count(out, []byte(`"receipt_id"`)); err != nil || got != n {
		t.Fatalf("%d receipts of %d: %v: %s", got, n, err, out)
	}
}

func (h *home) must(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, code := h.run(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, errOut)
	}
	return out
}

// TestIndependentVerification: what claw-receipt seals is checked by bash, jq, sha256sum and openssl, over a log that
// was rotated, with keys that were replaced; and what somebody changed is found by both.
func TestIndependentVerification(t *testing.T) {
	t.Parallel()
	need.Program(t, "bash", "jq", "openssl", "sha256sum")
	h := newHome(t)
	dir := strings.TrimPrefix(h.env[1], "CLAWSH_HOME=")
	log, side, keys := dir+"/tool_receipts.log", dir+"/tool_receipts.log.d", dir+"/keys/receipt"
	h.calls(t, 0, 6)
	first := h.keep(t, "claw-receipt", "checkpoint")
	h.must(t, "claw-receipt", "keys", "--rotate")
	cfg, _ := os.ReadFile(dir + "/config.toml")
	os.WriteFile(dir+"/config.toml", bytes.Replace(cfg, []byte("rotate_bytes = 67108864"),
		[]byte("rotate_bytes = 65536"), 1), 0o600)
	h.calls(t, 6, 110)
	second := h.keep(t, "claw-receipt", "checkpoint")
	h.calls(t, 116, 7)
	public := h.keep(t, "claw-receipt", "keys")

	parts, _ := filepath.Glob(side + "/0*.log")
	if len(parts) != 1 {
		t.Fatalf("the log was not rotated: %q", parts)
	}
	parts = append(parts, log)
	out, err := h.independent(t, append([]string{"chain"}, parts...)...)
	if err != nil || !strings.HasPrefix(out, "124 ") {
		t.Fatalf("chain: %v: %s", err, out)
	}
	for _, args := range [][]string{append([]string{"macs", keys + "/receipt.key"}, parts...),
		append([]string{"head", public, side + "/head"}, parts...),
		append([]string{"checkpoint", public, first}, parts...),
		append([]string{"checkpoint", public, second}, parts...)} {
		if out, err := h.independent(t, args...); err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
	h.must(t, "claw-receipt", "verify", "--against", first)
	h.must(t, "claw-receipt", "verify", "--against", second)
	proven, nth := []int{6, 96}, 2
	if need.Soak() {
		proven, nth = []int{0, 6, 64, 96}, 1
	}
	h.provesEach(t, proven, public, second)
	for _, old := range []string{first, second} {
		proof := h.keep(t, "claw-receipt", "checkpoint", "--consistency", old)
		if out, err := h.independent(t, "consistency", public, proof, old); err != nil {
			t.Errorf("consistency: %v: %s", err, out)
		}
		text, _ := os.ReadFile(proof)
		lines := bytes.SplitAfter(text, []byte("\n"))
		os.WriteFile(proof, bytes.Join(append([][]byte{lines[0]}, lines[2:]...), nil), 0o600)
		if _, err := h.independent(t, "consistency", public, proof); err == nil {
			t.Error("verify.sh believes a proof without its first hash")
		}
	}
	h.findsChanges(t, nth, parts, keys, public, second)
}

// provesEach checks proofs of the receipts under a checkpoint, with and without our code, and that a changed proof is
// none.
func (h *home) provesEach(t *testing.T, receipts []int, public, checkpoint string) {
	t.Helper()
	ids := strings.Fields(h.must(t, "claw-receipt", "list", "--output-format", "json", "--limit", "0", "--jq",
		".data.receipts[].id"))
	for _, i := range receipts {
		proof := h.keep(t, "claw-receipt", "prove", ids[i], "--checkpoint", checkpoint)
		out, err := h.independent(t, "proof", public, proof)
		if err != nil || !strings.Contains(out, ids[i]) {
			t.Errorf("proof of receipt %d: %v: %s", i+1, err, out)
		}
		h.must(t, "claw-receipt", "check-proof", proof, "--key", public)
		text, _ := os.ReadFile(proof)
		for name, changed := range map[string][]byte{
			"another place": bytes.Replace(text, fmt.Appendf(nil, "index %d\n", i),
				fmt.Appendf(nil, "index %d\n", i+1), 1),
			"another receipt": bytes.Replace(text, []byte("extra ey"), []byte("extra ez"), 1),
			"another root":    bytes.Replace(text, []byte("\n117\n"), []byte("\n118\n"), 1),
			"cut":             text[:len(text)-10],
		} {
			os.WriteFile(proof, changed, 0o600)
			if _, err := h.independent(t, "proof", public, proof); err == nil {
				t.Errorf("receipt %d: %s: verify.sh believes it", i+1, name)
			}
			if _, _, code := h.run(t, "claw-receipt", "check-proof", proof, "--key", public); code != 1 {
				t.Errorf("receipt %d: %s: claw-receipt exits %d", i+1, name, code)
			}
		}
	}
	if _, _, code := h.run(t, "claw-receipt", "prove", ids[120], "--checkpoint", checkpoint); code == 0 {
		t.Error("a receipt was proven under a checkpoint that is older")
	}
}

// findsChanges holds both verifiers to the same changes of the log, of which it takes every nth.
func (h *home) findsChanges(t *testing.T, nth int, parts []string, keys, public, checkpoint string) {
	t.Helper()
	old := map[string][]byte{}
	for _, p := range append([]string{parts[1] + ".d/head"}, parts...) {
		old[p], _ = os.ReadFile(p)
	}
	os.Chmod(parts[0], 0o600)
	last := parts[1]
	cut := old[last][:bytes.LastIndexByte(old[last][:len(old[last])-1], '\n')+1]
	strip := bytes.TrimPrefix(old[last], cut)
	strip = append(bytes.Clone(strip[:bytes.LastIndex(strip, []byte(`,"mac"`))]), "}\n"...)
	for i, c := range []struct {
		name, file string
		change     []byte
		found      []string // by verify.sh
	}{
		{"edited", parts[0], bytes.Replace(old[parts[0]], []byte(`"denied"`), []byte(`"failed"`), 1),
			[]string{"chain"}},
		{"tail cut", last, cut, []string{"head"}},
		{"rewritten without key", last, rechain(t, h, old[last]), []string{"macs", "head"}},
		{"no JSON, and no macs behind it", last, append(append(bytes.Clone(cut), "nonsense\n"...), strip...),
			[]string{"chain", "macs", "head"}},
		{"another head", parts[1] + ".d/head", bytes.Replace(old[parts[1]+".d/head"], []byte("124"), []byte("123"), 1),
			[]string{"head"}},
	} {
		if i%nth > 0 {
			continue
		}
		os.WriteFile(c.file, c.change, 0o600)
		for _, what := range c.found {
			args := map[string][]string{"chain": {"chain"}, "macs": {"macs", keys + "/receipt.key"},
				"head": {"head", public, parts[1] + ".d/head"}}[what]
			if _, err := h.independent(t, append(args, parts...)...); err == nil {
				t.Errorf("%s: verify.sh %s finds nothing", c.name, what)
			}
		}
		if _, _, code := h.run(t, "claw-receipt", "verify"); code != 1 {
			t.Errorf("%s: claw-receipt verify exits %d", c.name, code)
		}
		os.WriteFile(c.file, old[c.file], 0o600)
	}
	h.must(t, "claw-receipt", "verify", "--against", checkpoint)
}

// rechain edits the second receipt of a part and makes all hashes from there on right again, as somebody can who has no
// key.
func rechain(t *testing.T, h *home, part []byte) []byte {
	t.Helper()
	script := `n=0; previous=; while IFS= read -r line; do n=$((n + 1))
	if [ $n -gt 1 ]; then line=$(jq -c --arg p "$previous" '.previous_hash=$p' <<<"$line"); fi
	if [ $n = 2 ]; then line=$(jq -c '.status=(if .status=="denied" then "failed" else "denied" end)' <<<"$line"); fi
	previous=$(jq -cS 'del(.receipt_hash, .mac)' <<<"$line" | tr -d '\n' | sha256sum | cut -d' ' -f1)
	jq -c --arg h "$previous" '.receipt_hash=$h' <<<"$line"; done`
	cmd := exec.Command("bash", "-c", script)
	cmd.Env, cmd.Stdin = h.env, bytes.NewReader(part)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
