//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// least is one process that does what a turn cannot do without: it asks a server, and for each call that this wants it
// syncs a record, runs sh, syncs a second one and asks again; then it prints the answer.
const least = `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"syscall"
)

type call struct {
	ID       string          ` + "`json:\"id\"`" + `
	Function struct{ Name, Arguments string } ` + "`json:\"function\"`" + `
}

type message struct {
	Role    string ` + "`json:\"role\"`" + `
	Content string ` + "`json:\"content\"`" + `
	Calls   []call ` + "`json:\"tool_calls,omitempty\"`" + `
	CallID  string ` + "`json:\"tool_call_id,omitempty\"`" + `
}

func main() {
	messages := []message{{Role: "user", Content: "say hello"}}
	for {
		answer := ask(messages)
		if len(answer.Calls) == 0 {
			fmt.Println(answer.Content)
			return
		}
		messages = append(messages, answer)
		for _, c := range answer.Calls {
			messages = append(messages, message{Role: "tool", Content: run(c), CallID: c.ID})
		}
	}
}

func ask(messages []message) message {
	body, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
	check(err)
	resp, err := http.Post(os.Args[1]+"/chat/completions", "application/json", bytes.NewReader(body))
	check(err)
	text, err := io.ReadAll(resp.Body)
	check(err)
	resp.Body.Close()
	var answer struct{ Choices []struct{ Message message } }
	check(json.Unmarshal(text, &answer))
	return answer.Choices[0].Message
}

func run(c call) string {
	var args struct{ Command string }
	check(json.Unmarshal([]byte(c.Function.Arguments), &args))
	record("audit.jsonl", map[string]any{"call": c.ID, "args": args})
	out, err := exec.Command("sh", "-c", args.Command).CombinedOutput()
	check(err)
	record("receipts.jsonl", map[string]any{"call": c.ID, "output": string(out)})
	return string(out)
}

func record(file string, v any) {
	line, err := json.Marshal(v)
	check(err)
	f, err := os.OpenFile(os.Args[2]+"/"+file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
	_, err = f.Write(append(line, '\n'))
	check(err)
	check(syscall.Fdatasync(int(f.Fd())))
	f.Close()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

// BenchmarkLeast is what the issue of starts and turns aims at: turns beside the least that one can cost, starts beside
// an empty program.
func BenchmarkLeast(b *testing.B) {
	p := newPlace(b)
	ref := program(b, least)
	srv := httptest.NewServer(http.HandlerFunc(instant))
	defer srv.Close()
	floor := func(calls int) func() *exec.Cmd {
		return func() *exec.Cmd { return exec.Command(ref, fmt.Sprintf("%s/%d", srv.URL, calls), p.home) }
	}
	const many = 20
	for b.Loop() {
		compare(b, 41, p.turn(b, srv.URL, 0), floor(0)).beside(b, "turn, text only", 4)
		one := compare(b, 41, p.turn(b, srv.URL, 1), floor(1))
		one.beside(b, "turn, one call of /bin/echo", 5)
		compare(b, 11, p.turn(b, srv.URL, many), floor(many)).less(one, many-1).
			beside(b, "one more round of /bin/echo", 2)
		p.starts(b)
	}
}

// starts is the start of every program beside that of an empty one: to print its version, and to read an empty input.
func (p *place) starts(b *testing.B) {
	ref := program(b, empty)
	floor := func() *exec.Cmd { return exec.Command(ref) }
	for _, name := range []string{"clawsh", "claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem",
		"claw-loop"} {
		compare(b, 41, func() *exec.Cmd { return p.command(name, "--version") }, floor).
			beside(b, name+" --version", 1.5)
	}
	for _, name := range []string{"claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"} {
		compare(b, 41, func() *exec.Cmd { return p.command(name) }, floor).beside(b, name+", empty input", 3)
	}
}

// beside reports by the clock and by the processors, which say more where other things run on the machine.
func (c comparison) beside(b *testing.B, what string, aim float64) {
	report(b, what, c.clock, c.clockRef, aim)
	report(b, "  processor time", c.processor, c.processorRef, aim)
}

// BenchmarkMemoryOfTurn is what all processes of a turn with one call have in memory at one time: pages that several
// share count once in the sum of PSS, and once for each in that of RSS. The peaks of each alone come at different
// times, so their sum is an upper bound.
func BenchmarkMemoryOfTurn(b *testing.B) {
	p := newPlace(b)
	srv := httptest.NewServer(http.HandlerFunc(instant))
	defer srv.Close()
	for b.Loop() {
		var pss, own, rss, peaks, processes []int
		for range 11 {
			m := p.memory(b, p.turn(b, srv.URL, 1)())
			pss, own, rss = append(pss, m.pss), append(own, m.own), append(rss, m.rss)
			sum := 0
			for _, kb := range m.peaks {
				sum += kb
			}
			peaks, processes = append(peaks, sum), append(processes, len(m.peaks))
		}
		mib := func(kb []int) float64 { slices.Sort(kb); return float64(kb[len(kb)/2]) / 1024 }
		slices.Sort(processes)
		fmt.Printf("%-44s %7.1f MiB PSS, %.1f RSS at one time; %.1f the sum of the peaks, %d processes   aim: at most 50\n",
			"memory of a turn with one call", mib(pss), mib(rss), mib(peaks), processes[len(processes)/2])
		fmt.Printf("%-44s %7.1f MiB; the rest are pages of files, most of them of the programs\n",
			"  the processes' own", mib(own))
		b.ReportMetric(mib(pss), "MiB")
	}
}

// inMemory are kilobytes: the largest sums at one time, and the peak of each process. own is what of PSS is not pages
// of files.
type inMemory struct {
	pss, own, rss int
	peaks         map[string]int
}

func (p *place) memory(b *testing.B, cmd *exec.Cmd) inMemory {
	b.Helper()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	m := inMemory{peaks: map[string]int{}}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return m
		default:
		}
		pss, own, rss := 0, 0, 0
		for _, dir := range p.processes() {
			rollup, _ := os.ReadFile(dir + "/smaps_rollup")
			pss, rss = pss+kilobytes(rollup, "Pss:"), rss+kilobytes(rollup, "Rss:")
			own += kilobytes(rollup, "Pss_Anon:")
			status, _ := os.ReadFile(dir + "/status")
			m.peaks[dir] = max(m.peaks[dir], kilobytes(status, "VmHWM:"))
		}
		m.pss, m.own, m.rss = max(m.pss, pss), max(m.own, own), max(m.rss, rss)
	}
}

// processes are the directories of those that have this place's home in their environment.
func (p *place) processes() []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return slices.DeleteFunc(all, func(dir string) bool {
		env, err := os.ReadFile(dir + "/environ")
		return err != nil || !bytes.Contains(env, []byte("CLAWSH_HOME="+p.home))
	})
}

func kilobytes(text []byte, field string) int {
	_, rest, _ := strings.Cut(string(text), field)
	var kb int
	fmt.Sscan(rest, &kb)
	return kb
}
