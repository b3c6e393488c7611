package test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/test/need"
)

// patient bounds every wait: what takes longer hangs.
const patient = 30 * time.Second

// TestCrash kills each stage, and the whole group, at random moments of calls, and then holds what the gate has
// released against the receipts: every call has exactly one, and none lies. CLAWSH_SEED replays the moments of a run.
func TestCrash(t *testing.T) {
	want := need.Rounds(36, 120)
	c := newCrash(t)
	start := time.Now()
	for round := 0; c.count() < want; {
		batch := 1
		if c.rng(round, 0).IntN(4) == 0 {
			batch = 3 // several chains share the logs
		}
		var w sync.WaitGroup
		for range batch {
			n := round
			w.Go(func() { c.round(n) })
			round++
		}
		w.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d kills in %v", c.count(), time.Since(start).Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(c.kills)) {
		t.Logf("  %4d %s", c.kills[name], name)
	}
	t.Parallel() // the permits of the last calls live for a minute: the other tests run meanwhile
	c.recovered()
	c.check()
}

// crash is a home in which things are killed.
type crash struct {
	t    *testing.T
	home string // the user's
	dir  string // clawsh's
	env  []string
	logs string // a directory
	seed uint64
	loop sync.Mutex // the mock's fixture is for one loop at a time

	mu    sync.Mutex
	kills map[string]int               // by what was killed; guarded by mu
	fed   map[string]fedCall           // by the id of the call; guarded by mu
	seen  map[string]record.ToolResult // what came out of claw-receipt, by the id of the receipt; guarded by mu
	files map[string]string            // the arguments that write each file; guarded by mu
}

// fedCall is a call that a chain was given.
type fedCall struct{ tool, args string }

func newCrash(t *testing.T) *crash {
	c := &crash{t: t, home: t.TempDir(), logs: t.TempDir(), seed: uint64(time.Now().UnixNano()),
		kills: map[string]int{}, fed: map[string]fedCall{},
		seen: map[string]record.ToolResult{}, files: map[string]string{}}
	if s := os.Getenv("CLAWSH_SEED"); s != "" {
		var err error
		if c.seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CLAWSH_SEED=%d", c.seed)
	c.dir = filepath.Join(c.home, ".clawsh")
	c.env = []string{"HOME=" + c.home, "CLAWSH_HOME=" + c.dir, "PATH=" + bin + ":" + os.Getenv("PATH"), "TZ=UTC",
		"TMPDIR=" + t.TempDir()}
	c.must("clawsh", "init")
	settings := []config.Setting{{Key: "security.autonomy", Value: "full"},
		{Key: "providers.models.local.fixture", Value: "fixture.jsonl"},
		{Key: "receipts.rotate_bytes", Raw: "65536"}} // so that logs are rotated, too
	if !sandboxWorks() {
		settings = append(settings, config.Setting{Key: "security.sandbox", Value: "off"})
	}
	file := filepath.Join(c.dir, "config.toml")
	old, err := os.ReadFile(file)
	if err == nil {
		old, err = config.Edit(old, settings)
	}
	if err == nil {
		err = os.WriteFile(file, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rng makes the random numbers of one round.
func (c *crash) rng(round, use int) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed, uint64(round)<<8|uint64(use)))
}

func (c *crash) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Env, cmd.Dir = c.env, c.home
	return cmd
}

// must runs a program and returns its output.
func (c *crash) must(name string, args ...string) string {
	c.t.Helper()
	var out, errs strings.Builder
	cmd := c.command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("%s %v: %v: %s%s", name, args, err, out.String(), errs.String())
	}
	return out.String()
}

func (c *crash) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kills {
		n += k
	}
	return n
}

func (c *crash) killed(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills[name]++
}

// round starts the stages, has them do calls, and kills something.
func (c *crash) round(n int) {
	r := c.rng(n, 1)
	if r.IntN(4) == 0 {
		c.runLoop(n, r)
		return
	}
	c.runChain(n, r)
}

// calls are the next calls of a round, one line each.
func (c *crash) calls(round int, name string, r *rand.Rand) (lines string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range 1 + r.IntN(4) {
		id := fmt.Sprintf("call-%d-%s-%d", round, name, i)
		var f fedCall
		switch r.IntN(4) {
		case 0:
			f = fedCall{"time", `{}`}
		case 1:
			f = fedCall{"shell", `{"command":"ls -d ."}`}
		default:
			f = fedCall{"file_write", fmt.Sprintf(`{"content":%q,"path":"%s.txt"}`, id, id)}
			c.files[id+".txt"] = id
		}
		c.fed[id] = f
		lines += fmt.Sprintf(`{"v":1,"kind":"tool_call","id":%q,"conversation_id":"conv-%d","turn_id":"turn-%d","tool":%q,"args":%s}`+"\n", id, round, round, f.tool, f.args)
	}
	return lines
}

// spans are the times within which a chain is killed: that of quick calls, that of a program, and that of its start.
var spans = []time.Duration{6 * time.Millisecond, 15 * time.Millisecond, 40 * time.Millisecond}

// runChain is one life of claw-gate | claw-exec | claw-receipt | claw-mem.
func (c *crash) runChain(n int, r *rand.Rand) {
	h := c.startChain(n, r.IntN(2) == 0)
	if h == nil {
		return
	}
	defer h.end()
	targets := []string{"claw-gate", "claw-exec", "claw-receipt", "claw-mem", "broker", "group"}
	target := targets[r.IntN(len(targets))]
	if target == "broker" || r.IntN(4) > 0 { // else it is killed while it starts
		io.WriteString(h.in, c.calls(n, "warm", r))
		if !h.wait() {
			said, _ := os.ReadFile(h.said)
			c.t.Errorf("round %d: no result within %v: %s", n, patient, said)
			return
		}
	}
	broker := 0
	if target == "broker" {
		if broker = brokerOf(h.stages[1].Process.Pid); broker == 0 {
			c.t.Errorf("round %d: claw-exec has no broker", n)
			return
		}
	}
	delay := time.Duration(r.Int64N(int64(spans[r.IntN(len(spans))])))
	lines := c.calls(n, "killed", r)
	go io.WriteString(h.in, lines) // a chain that is gone takes no more
	time.Sleep(delay)
	switch target {
	case "group":
		syscall.Kill(-h.stages[0].Process.Pid, syscall.SIGKILL)
	case "broker":
		syscall.Kill(broker, syscall.SIGKILL)
	default:
		i := slices.Index(targets, target)
		syscall.Kill(h.stages[i].Process.Pid, syscall.SIGKILL)
	}
	c.killed("chain: " + target)
}

// brokerOf finds the part of claw-exec that starts programs.
func brokerOf(pid int) int {
	for _, p := range process.Descendants(pid) {
		if programOf(p) == "broker" {
			return p
		}
	}
	return 0
}

// programOf names a process: by its program, or by what a part of ours does.
func programOf(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	args := strings.Split(string(b), "\x00")
	for _, part := range []string{"broker", "recover"} {
		if len(args) > 1 && args[1] == part {
			return part
		}
	}
	return filepath.Base(args[0])
}

// runLoop is one turn of claw-loop, or of clawsh -n, during which any of the processes is killed, or all of them.
func (c *crash) runLoop(n int, r *rand.Rand) {
	c.loop.Lock()
	defer c.loop.Unlock()
	file := fmt.Sprintf("loop-%d.txt", n)
	fixture := fmt.Sprintf(`{"tool_calls":[{"name":"time","args":{}},{"name":"file_write","args":{"content":%q,"path":%q}},{"name":"shell","args":{"command":"ls -d ."}}]}
{"final_text":"done"}
`, file, file)
	if err := os.WriteFile(filepath.Join(c.dir, "fixture.jsonl"), []byte(fixture), 0o600); err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	c.files[file] = file
	c.mu.Unlock()
	cmd := c.command("claw-loop")
	if r.IntN(2) == 0 {
		cmd = c.command("clawsh", "-n", "go")
	} else {
		cmd.Stdin = strings.NewReader("go\n")
	}
	var out strings.Builder
	cmd.Stdout = &out
	cmd.WaitDelay = patient // what the killed one started holds the output until it has ended
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Error(err)
		return
	}
	time.Sleep(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
	c.killLoop(cmd.Process.Pid, r)
	err := cmd.Wait()
	if err == exec.ErrWaitDelay {
		c.t.Errorf("round %d: what a killed loop has started does not end", n)
	}
	if strings.HasSuffix(cmd.Path, "claw-loop") {
		for line := range strings.Lines(out.String()) {
			if strings.HasSuffix(line, "\n") {
				c.note([]byte(line))
			}
		}
	}
}

// killLoop kills one of the processes of a turn, or their whole group. A turn that has ended leaves nothing to kill.
func (c *crash) killLoop(pid int, r *rand.Rand) {
	if r.IntN(6) == 0 {
		if syscall.Kill(pid, 0) == nil && programOf(pid) != "." {
			syscall.Kill(-pid, syscall.SIGKILL)
			c.killed("turn: group")
		}
		return
	}
	pids := append(process.Descendants(pid), pid)
	target := pids[r.IntN(len(pids))]
	if name := programOf(target); name != "." && syscall.Kill(target, syscall.SIGKILL) == nil {
		c.killed("turn: " + name)
	}
}
