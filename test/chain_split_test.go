package test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/permit"
	"clawsh/lib/record"
)

// split is a gate on one host and an executor on another, which accept each other's public keys, and a third host that
// is accepted nowhere.
type split struct {
	near, far, third    *home
	executor, nearsName string // of far's claw-exec, and of near's gate
}

func newSplit(t *testing.T) *split {
	t.Helper()
	s := &split{near: newHome(t), far: newHome(t), third: newHome(t)}
	s.accept(t)
	for _, home := range []*home{s.near, s.far} {
		if _, errs, code := home.fed(t, s.far.says(t, "claw-exec", "keys"), "claw-receipt", "accept"); code != 0 {
			t.Fatal(errs)
		}
	}
	return s
}

// accept has far's claw-exec accept near's gate.
func (s *split) accept(t *testing.T) {
	t.Helper()
	out, errs, code := s.far.fed(t, s.near.says(t, "claw-gate", "keys"), "claw-exec", "accept", "--output-format",
		"json", "--jq", `.data | .executor, .gate`)
	names := strings.Fields(out)
	if code != 0 || len(names) != 2 {
		t.Fatalf("accept: %d, %q, %s", code, out, errs)
	}
	s.executor, s.nearsName = names[0], names[1]
}

// says is what a program prints.
func (h *home) says(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := h.run(t, args...)
	if code != 0 {
		t.Fatalf("%v: %d, %s", args, code, errs)
	}
	return out
}

// fed runs a program on an input.
func (h *home) fed(t *testing.T, in string, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.env, h.dir, strings.NewReader(in), &stdout, &stderr
	cmd.Run()
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// gated are calls that the home's gate has allowed, for far's claw-exec or whom the words say.
func (s *split) gated(t *testing.T, h *home, args ...string) []string {
	t.Helper()
	if args == nil {
		args = []string{"--executor", s.executor}
	}
	return h.filter(t, strings.Join(append([]string{"claw-gate"}, args...), " "),
		`{"v":1,"kind":"tool_call","id":"call-1","conversation_id":"conv-1","tool":"file_list","args":{"path":"."}}`+
			"\n"+
			`{"v":1,"kind":"tool_call","id":"call-2","conversation_id":"conv-2","tool":"file_read","args":{"path":"absent"}}`+"\n")
}

// clock is a call whose permit near's gate has signed by a clock that is wrong by so much.
func (s *split) clock(t *testing.T, wrong time.Duration, nonce string) string {
	t.Helper()
	signer, err := permit.LoadSigner(filepath.Join(s.near.dir, ".clawsh", "keys"))
	if err != nil {
		t.Fatal(err)
	}
	call := object(t, []byte(s.gated(t, s.near)[0]))
	verdict := call["verdict"].(map[string]any)
	text, err := signer.Sign(permit.Claims{CallID: "call-1", ConversationID: "conv-1", Tool: "file_list",
		ArgsSHA256: record.HashBytes([]byte(`{"path":"."}`)),
		Risk:       verdict["risk"].(string), Decision: record.Allow, PolicyHash: verdict["policy_hash"].(string),
		AuditID:  verdict["audit_id"].(string),
		Executor: s.executor, Nonce: nonce, ExpiresAt: time.Now().Add(wrong + permit.Lifetime).UTC().
				Format(record.TimeFormat)})
	if err != nil {
		t.Fatal(err)
	}
	verdict["permit"] = text
	return encoded(t, call)
}

// TestSplitHomesBearProof is TestEveryLinkBearsItsProof for two hosts: nothing runs on the one by what is not as the
// gate of the other signed it, and nothing is attested that is not as the claw-exec of the other sealed it.
func TestSplitHomesBearProof(t *testing.T) {
	t.Parallel()
	s := newSplit(t)
	gated := s.gated(t, s.near)
	bad := append(changed(t, gated[0], "permit"), swapped(t, gated[0], gated[1], "verdict", "permit")...)
	bad = append(bad, change{"a gate that is not accepted", s.gated(t, s.third)[0]},
		change{"made out to nobody", s.gated(t, s.near, "")[0]},
		change{"an executor that nobody has", s.gated(t, s.near, "--executor", "0123456789abcdef")[0]},
		change{"a clock ten minutes ahead", s.clock(t, 10*time.Minute, "")},
		change{"a clock ten minutes behind", s.clock(t, -10*time.Minute, "")})
	for i, line := range s.far.filter(t, "claw-exec", lines(bad)) {
		kept := strings.Contains(line, `"status":"denied"`) || strings.Contains(line, `"kind":"error"`)
		if !kept && !isUnbound(bad[i].field) {
			t.Errorf("it ran with %s: %s", bad[i].field, line)
		}
	}
	gated = s.gated(t, s.near) // what is not bound has used the others up
	if line := s.third.filter(t, "claw-exec", gated[0]+"\n")[0]; !strings.Contains(line, "is not accepted here") {
		t.Errorf("on another executor: %s", line)
	}
	results := s.far.filter(t, "claw-exec", gated[0]+"\n"+gated[0]+"\n"+gated[1]+"\n"+s.clock(t, 3*time.Second, "")+
		"\n")
	if !strings.Contains(results[0], `"status":"allowed"`) || !strings.Contains(results[1], `"permit":"used"`) ||
		!strings.Contains(results[3], `"status":"allowed"`) {
		t.Fatalf("%q", results)
	}

	bad = append(changed(t, results[0], "seal"), swapped(t, results[0], results[2], "seal")...)
	bad = append(bad, change{"an executor that is not accepted",
		s.third.filter(t, "claw-exec", s.gated(t, s.third, "")[0]+"\n")[0]})
	for i, line := range s.near.filter(t, "claw-receipt", lines(bad)) {
		if !strings.Contains(line, `"unattested":"`) && !strings.Contains(line, `"kind":"error"`) &&
			bad[i].field != "kind" {
			t.Errorf("it is attested with %s: %s", bad[i].field, line)
		}
	}
	for i, line := range s.near.filter(t, "claw-receipt", results[0]+"\n"+results[2]+"\n"+results[0]+"\n") {
		if strings.Contains(line, `"unattested"`) || strings.Contains(line, `"receipt_id"`) != (i < 2) ||
			strings.Contains(line, `"code":"receipt.exists"`) != (i == 2) {
			t.Errorf("real result %d: %s", i, line)
		}
	}
	if _, errs, code := s.near.run(t, "claw-receipt", "verify", "--attested"); code != 1 ||
		!strings.Contains(errs, "is not attested") {
		t.Errorf("verify --attested: %d, %s", code, errs)
	}
	s.attestations(t)
}

func isUnbound(field string) bool {
	for _, f := range unbound {
		if f == field {
			return true
		}
	}
	return false
}

// attestations changes, drops and swaps who vouches in each receipt: verify finds each.
func (s *split) attestations(t *testing.T) {
	t.Helper()
	path := filepath.Join(s.near.dir, ".clawsh", config.ReceiptsName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := s.near.run(t, "claw-receipt", "verify"); code != 0 {
		t.Fatal(errs)
	}
	all := strings.Split(strings.TrimSuffix(string(whole), "\n"), "\n")
	tried := 0
	for i, line := range all {
		if i > 1 && i < len(all)-2 { // both ends; all the others are between
			continue
		}
		r := object(t, []byte(line))
		who := r["attestation"]
		for _, other := range []any{nil, "", "unattested", "recovered", s.executor, "0123456789abcdef"} {
			if other == who {
				continue
			}
			if r["attestation"] = other; other == nil {
				delete(r, "attestation")
			}
			forged := append([]string{}, all...)
			forged[i] = encoded(t, r)
			if err := os.WriteFile(path, []byte(strings.Join(forged, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, _, code := s.near.run(t, "claw-receipt", "verify"); code != 1 {
				t.Errorf("receipt %d is attested by %v and not by %v: exit %d, %s", i+1, other, who, code, out)
			}
			tried++
		}
	}
	os.WriteFile(path, whole, 0o600)
	if tried < 10 {
		t.Errorf("%d changes only", tried)
	}
}

// running is a stage that runs on.
type running struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func (h *home) start(t *testing.T, stage string) *running {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, stage))
	cmd.Env, cmd.Dir = h.env, h.dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	r := &running{in, bufio.NewScanner(out)}
	r.out.Buffer(nil, 1<<20)
	return r
}

// answer is what the stage makes of a line.
func (r *running) answer(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil || !r.out.Scan() {
		t.Fatalf("no answer: %v, %v", err, r.out.Err())
	}
	return r.out.Text()
}

// TestAcceptedKeysAreTakenBack: what is accepted, and what is not any more, counts at once, also for stages that run;
// and a key under the name of another is none.
func TestAcceptedKeysAreTakenBack(t *testing.T) {
	t.Parallel()
	s := newSplit(t)
	keys := func(h *home, name string) string { return filepath.Join(h.dir, ".clawsh", "keys", name+".pub") }
	gate, seal := keys(s.far, "gates/"+s.nearsName), keys(s.near, "executors/"+s.executor)
	strange, err := os.ReadFile(keys(s.third, "permit"))
	if err != nil {
		t.Fatal(err)
	}
	strangeSeal := s.third.says(t, "claw-exec", "keys")
	real, _ := os.ReadFile(gate)
	realSeal, _ := os.ReadFile(seal)

	exec, receipt := s.far.start(t, "claw-exec"), s.near.start(t, "claw-receipt")
	for _, step := range []struct {
		why        string
		gate, seal []byte // nil: removed
		ran        bool
	}{
		{"both accepted", real, realSeal, true},
		{"both revoked", nil, nil, false},
		{"accepted again", real, realSeal, true},
		{"another's key under this name", strange, []byte(strangeSeal), false},
		{"an empty file", []byte{}, []byte{}, false},
		{"each the other kind of key", realSeal, real, false},
		{"and again", real, realSeal, true},
	} {
		for path, content := range map[string][]byte{gate: step.gate, seal: step.seal} {
			if os.Remove(path); content != nil {
				if err := os.WriteFile(path, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := exec.answer(t, s.gated(t, s.near)[0]); strings.Contains(got, `"status":"allowed"`) != step.ran {
			t.Errorf("%s: claw-exec: %s", step.why, got)
		}
		os.WriteFile(gate, real, 0o644)
		made := s.far.filter(t, "claw-exec", s.gated(t, s.near)[0]+"\n")[0]
		if got := receipt.answer(t, made); strings.Contains(got, `"unattested"`) == step.ran ||
			!strings.Contains(got, `"receipt_id"`) {
			t.Errorf("%s: claw-receipt: %s", step.why, got)
		}
	}
	os.WriteFile(gate, strange, 0o644) // what a start finds damaged, it says
	if _, errs, code := s.far.fed(t, "", "claw-exec"); code != 78 || !strings.Contains(errs, "is damaged") {
		t.Errorf("a gate under the name of another: %d, %s", code, errs)
	}
	os.WriteFile(gate, real, 0o644)
	s.accept(t) // twice is once
	if got, _ := os.ReadFile(gate); string(got) != string(real) {
		t.Errorf("accepted twice: %q", got)
	}
}

// TestAcceptRefuses: what is not the key of the right kind is not accepted.
func TestAcceptRefuses(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	gate, executor := h.says(t, "claw-gate", "keys"), h.says(t, "claw-exec", "keys")
	for _, who := range []struct{ program, right string }{{"claw-exec", gate}, {"claw-receipt", executor}} {
		wrong := map[string]string{"nothing": "", "a word": "x\n", "a blank": " \n",
			"the other kind": gate + executor[:0], "a key cut": who.right[:40],
			"a letter changed": strings.Replace(who.right, "v1 ", "v1  ", 1), "after a line": "\n" + who.right,
			"a null": "\x00" + who.right}
		if who.program == "claw-exec" {
			wrong["the other kind"] = executor
			wrong["no hash"] = gate + "policy x\n"
			wrong["a path"] = gate + "policy " + strings.Repeat("../", 21) + "a\n"
		}
		for why, text := range wrong {
			if out, errs, code := h.fed(t, text, who.program, "accept", "--output-format", "json"); code != 64 ||
				!strings.Contains(out, `"code":"usage"`) {
				t.Errorf("%s accept of %s: exit %d: %s%s", who.program, why, code, out, errs)
			}
		}
	}
}

// TestOneOfManyUsesAPermit: of executors that are given one permit at once, one runs the call; and so for two permits
// of one nonce.
func TestOneOfManyUsesAPermit(t *testing.T) {
	t.Parallel()
	s := newSplit(t)
	nonce := permit.NewNonce()
	for why, calls := range map[string][]string{"one permit": {s.gated(t, s.near)[0]},
		"one nonce": {s.clock(t, 0, nonce), s.clock(t, time.Second, nonce)}} {
		var stages []*running
		for n := range 4 {
			stages = append(stages, s.far.start(t, "claw-exec"))
			io.WriteString(stages[n].in, calls[n%len(calls)]+"\n") // they answer at once, as soon as they can
		}
		got := map[string]int{}
		for _, stage := range stages {
			if !stage.out.Scan() {
				t.Fatalf("no answer: %v", stage.out.Err())
			}
			got[object(t, stage.out.Bytes())["status"].(string)]++
		}
		if fmt.Sprint(got) != "map[allowed:1 denied:3]" {
			t.Errorf("%s: %v", why, got)
		}
	}
}
