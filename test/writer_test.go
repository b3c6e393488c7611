package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/test/need"
)

// awkward are arguments and outcomes of unsealed results whose hashes are easy to get wrong.
var awkward = []string{
	`"tool":"näme \"x\" {%}","args":{"b":1,"a":"\u20ac\ud83d\ude00\u0001\"\\/"},"output":"é\n\u007f"`,
	`"tool":"t","args":{"\ud83d\ude00":1,"\uffee":2,"z":{"y":[],"x":{}}},"output":""`,
	`"tool":"t","args":[0,-0,1.0,0.1,1e-7,0.000001,1.5e300,123456789.25,-5E-324,9007199254740991,null,true],"output":""`,
	`"tool":"t","args":{"n":9007199254740992},"output":""`,
	`"tool":"t","args":{"n":1e400, "m" : 1},"output":""`,
	`"tool":"t","args":{"n":1e17},"output":""`,
	`"tool":"t","args":{"n":0.10000000000000000001},"output":""`,
	`"tool":"t","args":"{\"path\": ","output":""`,
	`"tool":"t","args":null,"output":""`,
	`"tool":"` + strings.Repeat("long", 60) + `","args":{},"output":""`,
	`"tool":"` + strings.Repeat("é{", 60) + `","args":{},"output":""`,
	`"conversation_id":"` + strings.Repeat("c", 200) + `","tool":"t","args":{},"output":""`,
	`"conversation_id":"` + strings.Repeat("c", 201) + `","tool":"t","args":{},"output":""`,
	`"tool":"t","args":{},"output":"","verdict":{"decision":"deny","risk":"none","reason":"r","rule":"r","approval":"refused"}`,
	`"tool":"t","args":{},"output":"","seal":"v1.e30.AAAA"`,
}

// TestIndependentWriter: a writer in another language, written after SCHEMAS.md alone, appends the receipts of the same
// results to the byte, head included, and verify accepts its log and goes on from it.
func TestIndependentWriter(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3", "openssl")
	h := newHome(t)
	results := strings.Join(h.filter(t, "claw-exec", strings.Join(h.filter(t, "claw-gate", strings.Join([]string{
		`{"v":1,"kind":"tool_call","id":"call-1","conversation_id":"conv-1","tool":"file_list","args":{"path":"."}}`,
		`{"v":1,"kind":"tool_call","id":"call-2","conversation_id":"conv-1","tool":"file_read","args":{"path":"/etc/passwd"}}`,
		`{"v":1,"kind":"tool_call","id":"call-3","tool":"näme","args":{"x":1.50}}`,
		`{"v":1,"kind":"tool_call","id":"call-4","tool":"time","args":{"x":1e400}}`}, "\n")+"\n"), "\n")+"\n"), "\n") +
		"\n"
	// that seal fits no more
	results += strings.Replace(strings.SplitAfter(results, "\n")[0], `"status":"allowed"`, `"status":"failed"`, 1)
	for _, a := range awkward {
		results += `{"v":1,"kind":"tool_result","id":"call-x",` + a +
			`,"status":"failed","success":false,"error":"no","metadata":{"duration_ms":1,"truncated":false}}` + "\n"
	}
	other := filepath.Join(h.dir, "other")
	if out, err := exec.Command("cp", "-a", h.dir+"/.clawsh", other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, line := range h.filter(t, "claw-receipt", results) {
		if !strings.Contains(line, `"receipt_id"`) || strings.Contains(line, `"unattested"`) != (i > 3) {
			t.Errorf("result %d: %s", i+1, line)
		}
	}
	log := "/tool_receipts.log"
	want := read(t, h.dir+"/.clawsh"+log)
	before := strings.Count(read(t, other+log), "\n")
	given := new(bytes.Buffer)
	for i, line := range strings.Split(strings.TrimSuffix(want, "\n"), "\n") {
		var r map[string]string
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r["attestation"] != "unattested" {
			delete(r, "id") // which the seal names
		}
		if i >= before {
			json.NewEncoder(given).Encode(map[string]string{"timestamp": r["timestamp"], "id": r["id"]})
		}
	}
	if err := os.WriteFile(h.dir+"/given", given.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	h.write(t, other, results, h.dir+"/given")
	for _, file := range []string{log, log + ".d/head"} {
		if got, want := read(t, other+file), read(t, h.dir+"/.clawsh"+file); got != want {
			t.Errorf("%s:\n%s\nand by another writer:\n%s", file, want, got)
		}
	}
	// and without what is given: verify accepts it, and clawsh appends to it
	o := &home{dir: h.dir, env: append(append([]string{}, h.env...), "CLAWSH_HOME="+other)}
	h.write(t, other, strings.SplitAfter(results, "\n")[7])
	o.must(t, "claw-receipt", "verify", "--require", "head")
	o.must(t, "clawsh", "tool", "run", "time")
	h.write(t, other, strings.SplitAfter(results, "\n")[8])
	o.must(t, "claw-receipt", "verify", "--require", "head")
	// a result that has its receipt gets no second one
	if out, err := h.writer(other, strings.SplitAfter(results, "\n")[0]); err == nil ||
		!strings.Contains(out, "receipt.exists") {
		t.Errorf("a second time: %v: %s", err, out)
	}
}

func (h *home) writer(dir, results string, given ...string) (string, error) {
	cmd := exec.Command("python3",
		append([]string{"../testdata/verify/write.py", dir + "/keys/receipt", dir + "/keys/executors",
			dir + "/tool_receipts.log"}, given...)...)
	cmd.Stdin = strings.NewReader(results)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (h *home) write(t *testing.T, dir, results string, given ...string) {
	t.Helper()
	if out, err := h.writer(dir, results, given...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
