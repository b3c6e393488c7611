package test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// explosions are commands that take without bound what an interpreter has: each way to make a large text with each way
// to use it, and all forms of repeating. The interpreter refuses some of them at once.
func explosions() []string {
	large := map[string]string{
		"replacing": "x=aaaaaaaa; for i in 1 2 3 4 5 6 7 8 9; do x=${x//a/aaaaaaaa}; done",
		"doubling":  "x=aaaaaaaa; for i in {1..40}; do x=$x$x; done",
		"padding":   "x=$(printf '%2000000000s' a)",
		"itself":    "x=$(printf '%100000s' a); x=${x// /$x}",
		"appending": "x=aaaaaaaa; for i in {1..40}; do x+=$x; done",
	}
	var out []string
	for _, make := range large {
		for _, use := range []string{"", "; echo ${#x}", "; cat <<< $x", "; y=(${x//a/a })"} {
			out = append(out, make+use)
		}
	}
	out = append(out, "echo {1..100000000}", "echo {1..1000}{1..1000}{1..1000}", "for i in {1..100000000}; do :; done",
		"printf '%2000000000d' 1", "printf '%*d' 2000000000 1",
		"while ((1)); do ((n++)); done", "for ((;;)); do :; done", "until [[ a ]] && false; do :; done",
		"a=(x); for i in {1..40}; do a+=(${a[@]}); done",
		"a=(x); for i in {1..40}; do a=(${a[@]} ${a[@]}); done", "f() { f; }; f", "f() { (f); }; f",
		"f() { x=$(f); }; f", "f() { eval f; }; f",
		"x=$(printf '%10000000s'); for i in {1..50000}; do [[ $x == *a*a*a*b ]]; done",
		"while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaa; done",
		"x=$(while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done)", "x=$(yes)",
		"set -- x; while :; do set -- $@ $@; done")
	return out
}

// Whatever a command makes its interpreter take, the call ends, the stage has not grown by it, and it answers the next
// call.
func TestInterpreterIsBounded(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	shell := func(script string, in []byte) []byte {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir, cmd.Env, cmd.Stdin = home, env, bytes.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}
	shell(`clawsh init; sed -i 's/^autonomy = .*/autonomy = "full"/' .clawsh/config.toml`, nil)
	cmd := exec.Command(filepath.Join(bin, "claw-exec"))
	cmd.Dir, cmd.Env = home, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	results, count := bufio.NewReaderSize(out, 16<<20), 0
	runWithin := func(command string, seconds int, limits map[string]int) record.ToolResult {
		count++
		args, _ := record.Encode(map[string]any{"command": command, "timeout_s": seconds, "sandbox": limits})
		line, err := record.Encode(record.ToolCall{V: record.Version, Kind: record.KindToolCall,
			ID: fmt.Sprint("call-", count), ConversationID: "conv-1", Tool: "shell", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(shell("claw-gate", append(line, '\n')))
		b, err := results.ReadBytes('\n')
		var r record.ToolResult
		if err == nil {
			err = record.DecodeOpen(bytes.TrimSpace(b), &r)
		}
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return r
	}
	run := func(command string) record.ToolResult { return runWithin(command, 1, map[string]int{}) }
	const most = 200 << 10 // KiB: of the stage, with the text of results
	for _, command := range explosions() {
		r := run(command)
		t.Logf("%5d ms, the stage %3d MiB: %q: %s", r.Metadata.DurationMS, peak(t, cmd.Process.Pid)>>10, command,
			r.Error)
		if r.Status == record.StatusDenied || r.Status == record.StatusFailed && r.Error == "" {
			t.Errorf("%q: %s %s", command, r.Status, r.Error)
		}
		if peak(t, cmd.Process.Pid) > most {
			t.Fatalf("the stage took %d MiB by %q", peak(t, cmd.Process.Pid)>>10, command)
		}
	}
	if r := runWithin("while ((1)); do ((n++)); done", 60, map[string]int{"cpu_s": 1}); !strings.Contains(r.Error,
		"CPU time") {
		t.Errorf("without end, with a second of processor time: %+v", r)
	}
	if r := run("echo fine"); !r.Success || r.Output != "fine\n" {
		t.Errorf("after all that: %+v", r)
	}
}

// peak is the most memory that a process has had, in KiB.
func peak(t *testing.T, pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
