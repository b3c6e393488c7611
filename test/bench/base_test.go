//go:build linux

package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"clawsh/test/need"
)

// BenchmarkAgainstBase times turns against those of another revision, CLAWSH_BASE, which is built in a worktree of its
// own: one of this, one of that, and so on. The model is a server that answers at once. Processor time is that of all
// processes of a turn: it says more than the clock where other things run on the machine.
func BenchmarkAgainstBase(b *testing.B) {
	rev := os.Getenv("CLAWSH_BASE")
	if rev == "" {
		need.Asked(b, "CLAWSH_BASE names no revision to compare with")
	}
	now := newPlace(b)
	base := newPlaceOf(b, buildRevision(b, rev))
	srv := httptest.NewServer(http.HandlerFunc(instant))
	defer srv.Close()
	for b.Loop() {
		var few, many comparison
		for _, calls := range []int{0, 1, 20} {
			n := 41
			if calls > 1 {
				n = 11
			}
			few, many = many, compare(b, n, now.turn(b, srv.URL, calls), base.turn(b, srv.URL, calls))
			many.report(b, fmt.Sprintf("turn of %d calls", calls), rev)
		}
		many.less(few, 19).report(b, "one more round", rev)
	}
}

// A comparison is what something takes, by the clock and of the processors, beside its reference.
type comparison struct{ clock, clockRef, processor, processorRef time.Duration }

// compare runs two programs in turn, n times each after a first time that does not count.
func compare(b *testing.B, n int, got, ref func() *exec.Cmd) comparison {
	b.Helper()
	var c [4][]time.Duration
	for i := range n + 1 {
		for side, program := range []func() *exec.Cmd{got, ref} {
			cmd, start := program(), time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %v: %s", cmd.Args, err, out)
			}
			if took := time.Since(start); i > 0 {
				c[side] = append(c[side], took)
				c[2+side] = append(c[2+side], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			}
		}
	}
	for _, times := range c {
		slices.Sort(times)
	}
	return comparison{c[0][n/2], c[1][n/2], c[2][n/2], c[3][n/2]}
}

// less is the n-th part of what one comparison takes more than another.
func (c comparison) less(few comparison, n time.Duration) comparison {
	return comparison{(c.clock - few.clock) / n, (c.clockRef - few.clockRef) / n, (c.processor - few.processor) / n,
		(c.processorRef - few.processorRef) / n}
}

func (c comparison) report(b *testing.B, what, rev string) {
	report(b, fmt.Sprintf("%s, against %.12s", what, rev), c.clock, c.clockRef, 1)
	report(b, "  processor time", c.processor, c.processorRef, 1)
}

// buildRevision builds the programs of a revision and returns their directory.
func buildRevision(b *testing.B, rev string) string {
	b.Helper()
	tree, bin := filepath.Join(b.TempDir(), "tree"), b.TempDir()
	do := func(dir, name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
	}
	do("", "git", "worktree", "add", "--quiet", "--detach", tree, rev)
	b.Cleanup(func() { exec.Command("git", "worktree", "remove", "--force", tree).Run() })
	do(tree, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin+"/", "./cmd/...")
	return bin
}

// turn is a turn of a number of calls of a real program.
func (p *place) turn(b *testing.B, url string, calls int) func() *exec.Cmd {
	config := filepath.Join(p.home, fmt.Sprintf("web-%d.toml", calls))
	text := fmt.Sprintf("default_provider = \"web\"\n[security]\nautonomy = \"full\"\n[limits]\nmax_tool_rounds = 40\n"+
		"[providers.models.web]\nkind = \"openai-compatible\"\nmodel = \"m\"\nbase_url = \"%s/%d\"\n", url, calls)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return func() *exec.Cmd { return p.command("clawsh", "-n", "say hello", "--config", config) }
}

// instant is a model that asks for as many calls as the first part of the path says, one after the other, and then says
// hello.
func instant(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	calls, _ := strconv.Atoi(strings.Split(r.URL.Path, "/")[1])
	made := strings.Count(string(body), `"role":"tool"`)
	message, finish := `"content":"hello"`, "stop"
	if made < calls {
		message = fmt.Sprintf(`"content":"","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"shell","arguments":"{\"command\":\"/bin/echo hi\"}"}}]`, made)
		finish = "tool_calls"
	}
	if !strings.Contains(string(body), `"stream":true`) {
		fmt.Fprintf(w,
			`{"id":"c","model":"m","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant",%s}}]}`,
			finish, message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w,
		"data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",%s},\"finish_reason\":null}]}\n\n", message)
	fmt.Fprintf(w,
		"data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
}
