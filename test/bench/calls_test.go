//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/test/need"
)

// gated makes n permitted calls of the shell. A permit is good once, and for a minute.
func (p *place) gated(b *testing.B, command string, n int) []byte {
	b.Helper()
	var calls bytes.Buffer
	for i := range n {
		args, _ := json.Marshal(map[string]any{"command": command, "timeout_s": 300})
		fmt.Fprintf(&calls, `{"v":1,"kind":"tool_call","id":"call-%d","conversation_id":"c","tool":"shell","args":%s}`+
			"\n", i, args)
	}
	return p.run(b, calls.Bytes(), "claw-gate", "--config", p.full(b))
}

// full is a configuration that asks nothing, and waits for as long as a loaded machine takes.
func (p *place) full(b *testing.B) string {
	b.Helper()
	path := filepath.Join(p.home, "full.toml")
	text := "[security]\nautonomy = \"full\"\n[limits]\nshell_timeout_s = 300\nshell_timeout_max_s = 300\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// exec times claw-exec on n permitted calls.
func (p *place) exec(b *testing.B, command string, n int) time.Duration {
	b.Helper()
	in := p.gated(b, command, n)
	start := time.Now()
	out := p.run(b, in, "claw-exec", "--config", p.full(b))
	took := time.Since(start)
	if bytes.Count(out, []byte(`"success":true`)) != n {
		b.Fatalf("%s: %.500s", command, out)
	}
	return took
}

// bare times a command in a shell without a sandbox.
func (p *place) bare(b *testing.B, command string) time.Duration {
	b.Helper()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.Env = filepath.Join(p.home, "clawsh-workspace"), p.env
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v: %s", command, err, out)
	}
	return time.Since(start)
}

// medians are of n values, taken in turn with those of the others.
func medians(n int, of ...func() time.Duration) []time.Duration {
	all := make([][]time.Duration, len(of))
	for i := range n + 1 {
		for k, f := range of {
			if took := f(); i > 0 { // the first warms up
				all[k] = append(all[k], took)
			}
		}
	}
	var out []time.Duration
	for _, times := range all {
		slices.Sort(times)
		out = append(out, times[len(times)/2])
	}
	return out
}

// BenchmarkCalls is what one more command takes in its sandbox, interpreter included, beside what it takes a shell
// without one.
func BenchmarkCalls(b *testing.B) {
	p := newPlace(b)
	const more = 5
	for b.Loop() {
		for _, c := range []struct {
			what, command string
			limit         float64
		}{
			{"one program", "/bin/echo a", 10}, {"builtins alone", "x=1; echo $x", 30},
			{"a pipe of five programs", "/bin/echo a | /bin/cat | /bin/cat | /bin/cat | /bin/cat", 5},
			{"a loop of fifty programs", "for i in " + strings.Repeat("a ", 50) + "; do /bin/echo $i; done", 2},
		} {
			m := medians(5, func() time.Duration { return p.exec(b, c.command, 1) },
				func() time.Duration { return p.exec(b, c.command, 1+more) },
				func() time.Duration { return p.bare(b, c.command) })
			report(b, "call: "+c.what, (m[1]-m[0])/more, m[2], c.limit)
		}
	}
}

// BenchmarkBuild is the build of a small module after a change, in the sandbox and outside, the rest of it from a
// cache.
func BenchmarkBuild(b *testing.B) {
	p := newPlace(b)
	need.Program(b, "go")
	program, err := exec.LookPath("go")
	if err != nil {
		b.Fatal(err)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		b.Fatal(err)
	}
	workspace := filepath.Join(p.home, "clawsh-workspace")
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.22\n",
		"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(n) }\n"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	p.env = append(p.env, "GOCACHE="+filepath.Join(p.home, "cache"), "GOTOOLCHAIN=local",
		"PATH="+p.bin+":"+filepath.Dir(program)+":/usr/bin:/bin") // of a name, the last counts
	n := 0
	build := func() string {
		n++
		return fmt.Sprintf("echo 'package main; const n = %d' > n.go; go build -o out .", n)
	}
	for b.Loop() {
		m := medians(3, func() time.Duration { return p.exec(b, build(), 1) },
			func() time.Duration { return p.bare(b, build()) })
		report(b, "call: go build of a small module", m[0], m[1], 1.5)
	}
}
