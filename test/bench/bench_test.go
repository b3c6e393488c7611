//go:build linux

// Package bench measures the real binaries, each figure beside its reference in the same run. Nothing here fails
// because of a time: the figures are printed beside the limits that the project aims at.
package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/test/need"
)

// place is where the benchmarks run: the binaries, a home, the environment.
type place struct {
	bin, home string
	env       []string
}

func newPlace(b *testing.B) *place {
	b.Helper()
	bin := os.Getenv("CLAWSH_BIN")
	if bin == "" {
		need.Asked(b, "CLAWSH_BIN names no directory with the binaries; make bench does")
	}
	return newPlaceOf(b, bin)
}

func newPlaceOf(b *testing.B, bin string) *place {
	b.Helper()
	home := b.TempDir()
	p := &place{bin: bin, home: home, env: []string{"HOME=" + home, "CLAWSH_HOME=" + home + "/.clawsh", "PATH=" + bin +
		":/usr/bin:/bin", "TMPDIR=" + home}}
	p.run(b, nil, "clawsh", "init")
	return p
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, args[0]), args[1:]...)
	cmd.Env = p.env
	return cmd
}

func (p *place) run(b *testing.B, stdin []byte, args ...string) []byte {
	b.Helper()
	cmd := p.command(args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errOut
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v: %s", args, err, errOut.String())
	}
	return out.Bytes()
}

// program compiles a small reference program.
func program(b *testing.B, source string) string {
	b.Helper()
	dir := b.TempDir()
	os.WriteFile(dir+"/main.go", []byte(source), 0o644)
	out := dir + "/reference"
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, dir+"/main.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, msg)
	}
	return out
}

// pair times two things in turn, n times each, and returns the medians.
func pair(n int, a, b func()) (time.Duration, time.Duration) {
	var as, bs []time.Duration
	time1 := func(f func()) time.Duration { t := time.Now(); f(); return time.Since(t) }
	a()
	b()
	for range n {
		as, bs = append(as, time1(a)), append(bs, time1(b))
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[n/2], bs[n/2]
}

func report(b *testing.B, what string, got, reference time.Duration, limit float64) {
	fmt.Printf("%-44s %9.2f ms   reference %8.2f ms   %5.2f times   aim: at most %g\n", what, ms(got), ms(reference),
		float64(got)/float64(reference), limit)
	b.ReportMetric(float64(got)/float64(reference), "times")
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

const empty = "package main\n\nfunc main() {}\n"

// BenchmarkTurn is a turn on the mock against an empty Go program's start.
func BenchmarkTurn(b *testing.B) {
	p := newPlace(b)
	ref := program(b, empty)
	floor := func() { exec.Command(ref).Run() }
	for b.Loop() {
		got, f := pair(21, func() { p.run(b, nil, "clawsh", "-n", "hello") }, floor)
		report(b, "turn, text only", got, f, 15)
		got, f = pair(21, func() { p.run(b, nil, "clawsh", "-n", "what files are here?") }, floor)
		report(b, "turn, one tool call", got, f, 30)
	}
}

// roundFloor is one process that does, n times, what a tool round cannot do without: start a program, and make two
// records durable.
const roundFloor = `package main

import ("os"; "os/exec"; "strconv"; "syscall")

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	a, _ := os.Create(os.Args[2] + "/a")
	b, _ := os.Create(os.Args[2] + "/b")
	line := make([]byte, 500)
	for range n {
		a.Write(line); syscall.Fdatasync(int(a.Fd()))
		exec.Command("/bin/true").Run()
		b.Write(line); syscall.Fdatasync(int(b.Fd()))
	}
}
`

// BenchmarkRound is the cost of one more tool round.
func BenchmarkRound(b *testing.B) {
	p := newPlace(b)
	ref := program(b, roundFloor)
	rounds := func(n int) func() {
		steps := strings.Repeat(`{"tool_calls":[{"name":"shell","args":{"command":"/bin/true"}}]}`+"\n", n)
		fixture := filepath.Join(p.home, fmt.Sprintf("fixture-%d.jsonl", n))
		os.WriteFile(fixture, []byte(steps+`{"final_text":"done"}`+"\n"), 0o600)
		config := filepath.Join(p.home, fmt.Sprintf("config-%d.toml", n))
		os.WriteFile(config, fmt.Appendf(nil,
			"[security]\nautonomy = \"full\"\nallowed_commands = [\"true\"]\n[limits]\nmax_tool_rounds = 100\n"+
				"[providers.models.local]\nkind = \"mock\"\nmodel = \"mock\"\nfixture = %q\n", fixture), 0o600)
		return func() { p.run(b, nil, "clawsh", "-n", "go", "--config", config) }
	}
	one, many := rounds(1), rounds(51)
	for b.Loop() {
		few, more := pair(9, one, many)
		f1, f51 := pair(9, func() { exec.Command(ref, "1", p.home).Run() },
			func() { exec.Command(ref, "51", p.home).Run() })
		report(b, "one more tool round (shell true)", (more-few)/50, (f51-f1)/50, 2)
	}
}

// BenchmarkPassThrough is the throughput of records that a stage does not own, and its memory on 1 GB of them.
func BenchmarkPassThrough(b *testing.B) {
	p := newPlace(b)
	line := []byte(`{"kind":"measurement","id":"m-1","text":"` + strings.Repeat("x", 500-43-1) + "\"}\n")
	chunk := bytes.Repeat(line, 2000)
	const total = 1 << 30
	for b.Loop() {
		for _, name := range []string{"claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"} {
			cmd := p.command(name)
			in, err := cmd.StdinPipe()
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			for sent := 0; sent < total; sent += len(chunk) {
				if _, err := in.Write(chunk); err != nil {
					b.Fatal(err)
				}
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
			rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			fmt.Printf("%-44s %7.0f MB/s   aim: at least 100   %5.1f MB resident   aim: under 25\n", "pass through "+
				name+", 1 GB of 500-byte lines",
				float64(total)/1e6/time.Since(start).Seconds(), float64(rss)/1024)
		}
	}
}
