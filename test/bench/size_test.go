//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// against prints how long a command takes, and of the processor, beside a limit.
func (p *place) against(b *testing.B, what string, limit time.Duration, n int, args ...string) {
	b.Helper()
	var c [2][]time.Duration
	for i := range n + 1 {
		cmd, start := p.command(args...), time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v: %s", args, err, out)
		}
		if took := time.Since(start); i > 0 {
			c[0], c[1] = append(c[0], took), append(c[1], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	fmt.Printf("%-60s %9.2f ms   processor %8.2f ms   aim: at most %g ms\n", what, ms(quantile(c[0], 50)),
		ms(quantile(c[1], 50)), ms(limit))
}

// BenchmarkReceiptsAtSize is what people ask of a large log: first without tiles, which that makes, then with them.
func BenchmarkReceiptsAtSize(b *testing.B) {
	p, n := newPlace(b), receipts()
	p.longLog(b, ".clawsh/tool_receipts.log", n)
	id := fmt.Sprintf("receipt-%08x-0000-7000-8000-%012x", n/2, n/2)
	old := filepath.Join(p.home, "old")
	for b.Loop() {
		of := fmt.Sprintf(" of %d receipts", n)
		start := time.Now()
		if err := os.WriteFile(old, p.run(b, nil, "claw-receipt", "checkpoint"), 0o600); err != nil {
			b.Fatal(err)
		}
		fmt.Printf("%-60s %9.2f ms   once\n", "checkpoint without tiles"+of, ms(time.Since(start)))
		const aim = 20 * time.Millisecond
		p.against(b, "list --limit 5"+of, aim, 21, "claw-receipt", "list", "--limit", "5")
		p.against(b, "show"+of, aim, 21, "claw-receipt", "show", id)
		p.against(b, "prove"+of, aim, 21, "claw-receipt", "prove", id)
		p.against(b, "checkpoint"+of, aim, 21, "claw-receipt", "checkpoint")
		p.against(b, "checkpoint --consistency"+of, aim, 21, "claw-receipt", "checkpoint", "--consistency", old)
	}
}

// turns is how many turns the large memory has.
func turns() int {
	if n, err := strconv.Atoi(os.Getenv("CLAWSH_BENCH_TURNS")); err == nil && n > 0 {
		return n
	}
	return 230_000
}

// longTurns is how many turns the long conversation has; the short ones have as many as the model is sent of it, since
// the rest is summarised.
const (
	longTurns  = 10_000
	shortTurns = 220
)

// BenchmarkMemoryAtSize is what people ask of a large memory, and a turn in a conversation of 10,000 turns beside one
// in a short conversation, of which the model is sent as much.
func BenchmarkMemoryAtSize(b *testing.B) {
	p, n := newPlace(b), turns()
	p.longMemory(b, n)
	p.run(b, nil, "clawsh", "-n", "--conversation", "conv-long", "hello") // FTS5 merges what came at once
	for b.Loop() {
		of := fmt.Sprintf(" of %d turns", n)
		const aim = 20 * time.Millisecond
		p.against(b, "memory list"+of, aim, 21, "claw-mem", "list")
		p.against(b, "usage"+of, aim, 21, "claw-mem", "usage")
		p.against(b, "usage --by model --since"+of, aim, 21, "claw-mem", "usage", "--by", "model", "--since",
			"2026-02-03T04:05:06Z")
		p.against(b, "context"+of, aim, 21, "claw-mem", "context", "--conversation", "conv-long")
		in := func(conversation string) func() {
			return func() { p.run(b, nil, "clawsh", "-n", "--conversation", conversation, "hello") }
		}
		got, reference := pair(21, in("conv-long"), in("conv-1"))
		report(b, fmt.Sprintf("turn in a conversation of %d, beside one of %d", longTurns, shortTurns), got, reference,
			1.3)
		got, reference = pair(21, in("conv-long"), func() { p.run(b, nil, "clawsh", "-n", "hello") })
		report(b, "  beside a new one, of which the model is sent nothing", got, reference, 1.3)
	}
}

// longMemory fills the memory: a conversation of longTurns turns, and as many of shortTurns as it takes.
func (p *place) longMemory(b *testing.B, n int) {
	b.Helper()
	conn, err := sqlite3.Open(filepath.Join(p.home, ".clawsh", "memory.sqlite"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if err := fts5.Register(conn); err != nil {
		b.Fatal(err)
	}
	err = conn.Exec(fmt.Sprintf(`PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN;
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3 * %[1]d - 1)
		INSERT INTO entries(record_id, conversation_id, turn_id, ts, kind, role, content, provider, model, metadata, input_tokens, output_tokens)
		SELECT 'rec-' || i, iif(i / 3 >= %[1]d - %[2]d, 'conv-long', 'conv-' || (i / 3 / %[3]d)), 'turn-' || (i / 3),
			strftime('%%Y-%%m-%%dT%%H:%%M:%%S.000Z', 1770000000 + i * 20, 'unixepoch'), iif(i %% 3 = 0, 'user', iif(i %% 3 = 1, 'response', 'final')),
			iif(i %% 3 = 0, 'user', 'assistant'), CASE i %% 3 WHEN 0 THEN 'What is ' || i || '?' WHEN 1 THEN 'It is ' || i || ', as before.' ELSE '' END,
			iif(i %% 3 = 0, '', 'local'), iif(i %% 3 = 0, '', 'mock'), CASE i %% 3 WHEN 0 THEN NULL WHEN 1 THEN '{"usage":{"input_tokens":100,"output_tokens":20}}'
			ELSE '{"stop_reason":"final_text","rounds":1,"usage":{"input_tokens":100,"output_tokens":20}}' END, iif(i %% 3 = 1, 100, NULL), iif(i %% 3 = 1, 20, NULL) FROM n;
		INSERT INTO conversations(id, agent, title, started_at, updated_at, last_entry, turns, entries, directory, terminal)
		SELECT conversation_id, 'default', 'a question', min(ts), max(ts), max(id), count(DISTINCT turn_id), count(*), '/w', '' FROM entries GROUP BY 1;
		COMMIT`, n, longTurns, shortTurns))
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppendThroughPipe is a record through claw-receipt, one at a time, beside what it is made of: a bare write
// and sync, and a filter of a few lines that reads a line from a pipe, does just that, and writes the line on. That
// floor is 1.55 times write and sync already: two processes wake each other. A receipt takes 0.24 ms of processor time
// in all on ext4: JSON, seal, hashes and mac, two locks, and a head that is signed, read and written. Six calls of the
// stat family: under each lock which file the log is and how long, under each whether the head is the one that is open,
// once the key, and once the time of our own write. One sync is waited for, as below it.
func BenchmarkAppendThroughPipe(b *testing.B) {
	dir, system := diskDir(b)
	p := newPlace(b)
	p.env = append(p.env, "CLAWSH_HOME="+filepath.Join(dir, "home")) // the later one counts
	p.run(b, nil, "clawsh", "init")
	bare := program(b, bareFilter)
	record := `{"v":1,"kind":"tool_result","id":"call-1","conversation_id":"conv-1","tool":"time","args":{},"status":"denied","success":false,"output":"","error":"no"}` + "\n"
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := append(bytes.Repeat([]byte("x"), lineBytes-1), '\n')
	for b.Loop() {
		ours := p.coprocess(b, p.command("claw-receipt"), record)
		cmd := exec.Command(bare, filepath.Join(dir, "filtered"))
		floor := p.coprocess(b, cmd, string(line))
		var took [3][]time.Duration
		for range 400 {
			start := time.Now()
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
			if err := syscall.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
			took[0] = append(took[0], time.Since(start))
			took[1], took[2] = append(took[1], floor()), append(took[2], ours())
		}
		report(b, "a receipt through a pipe, "+system+", p50, beside write+sync", quantile(took[2], 50),
			quantile(took[0], 50), 1.5)
		report(b, "  beside a filter that does no more than that", quantile(took[2], 50), quantile(took[1], 50), 1.5)
		report(b, "  that filter beside write+sync", quantile(took[1], 50), quantile(took[0], 50), 1.5)
	}
}

// coprocess starts a filter, and returns what sends it a record and waits for the answer.
func (p *place) coprocess(b *testing.B, cmd *exec.Cmd, record string) func() time.Duration {
	b.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	var errOut strings.Builder
	cmd.Stderr = &errOut
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		b.Fatal(err1, err2)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	r := bufio.NewReader(out)
	once := func() time.Duration {
		start := time.Now()
		_, err := io.WriteString(in, record)
		if err == nil {
			_, err = r.ReadString('\n')
		}
		if err != nil {
			b.Fatal(err, errOut.String())
		}
		return time.Since(start)
	}
	once()
	return once
}

const bareFilter = `package main

import (
	"bufio"
	"os"
	"syscall"
)

func main() {
	f, err := os.OpenFile(os.Args[1], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	r := bufio.NewReader(os.Stdin)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		f.Write(line)
		syscall.Fdatasync(int(f.Fd()))
		os.Stdout.Write(line)
	}
}
`
