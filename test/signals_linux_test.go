package test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/process"
	"clawsh/lib/receipt"
	"clawsh/test/need"
)

// tableCodes are the exit codes that docs/SCHEMAS.md lists, and 137, which SIGKILL makes.
var tableCodes = []int{0, 1, 2, 64, 69, 71, 75, 77, 78, 129, 130, 137, 141, 143}

// target is a program that is sent signals while it starts, works and ends.
type target struct {
	name   string
	argv   []string
	input  string
	open   bool          // its input stays open: only a signal ends it
	length time.Duration // of one undisturbed run
}

// signalling is one run of TestSignals.
type signalling struct {
	*crash
	targets []target
	mu      sync.Mutex
	codes   map[string]int // guarded by mu
}

// TestSignals sends SIGINT, SIGTERM, SIGHUP and SIGKILL to turns, single tools and single stages, at moments spread
// over the time that each takes: to the program that was started, to its whole group, to one of those below it; in a
// quarter of the cases twice. Several run at once. Exit codes are those of the signal, or of a program that had ended;
// nothing of it is left running; afterwards every released call has one receipt, and log, memory and locks are as they
// should be. CLAWSH_SEED replays the moments.
func TestSignals(t *testing.T) {
	t.Parallel()
	rounds := need.Rounds(24, 100)
	s := &signalling{crash: newCrash(t), codes: map[string]int{}}
	s.prepare()
	next := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for n := range next {
				s.round(n)
			}
		})
	}
	for n := range rounds {
		next <- n
	}
	close(next)
	workers.Wait()
	t.Logf("exit codes: %v", s.codes)
	s.afterwards()
}

// prepare says what is run, and measures how long each takes.
func (s *signalling) prepare() {
	fixture := `{"tool_calls":[{"name":"time","args":{}},{"name":"file_write","args":{"content":"x","path":"x.txt"}},{"name":"shell","args":{"command":"ls -d ."}}]}
{"final_text":"done"}
`
	if err := os.WriteFile(filepath.Join(s.dir, "fixture.jsonl"), []byte(fixture), 0o600); err != nil {
		s.t.Fatal(err)
	}
	call := `{"v":1,"kind":"tool_call","id":"call-%s","conversation_id":"conv-s","turn_id":"turn-s","tool":"time","args":{}}` + "\n"
	s.targets = []target{{name: "turn", argv: []string{"clawsh", "-n", "go"}},
		{name: "turn", argv: []string{"clawsh", "-n", "--stream", "go"}},
		{name: "loop", argv: []string{"claw-loop"}, input: "go\n"},
		{name: "tool", argv: []string{"clawsh", "tool", "run", "shell", "--json", `{"command":"ls -d ."}`}},
		{name: "view", argv: []string{"clawsh", "receipt", "list"}},
		{name: "view", argv: []string{"clawsh", "memory", "list"}}}
	for _, stage := range []string{"claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"} {
		input := ""
		if stage == "claw-gate" {
			input = fmt.Sprintf(call, "open")
		}
		s.targets = append(s.targets, target{name: "stage", argv: []string{stage}, input: input, open: true})
	}
	for i := range s.targets {
		t := &s.targets[i]
		if t.open {
			t.length = 60 * time.Millisecond // its start, and a while
			continue
		}
		start := time.Now()
		for range 2 {
			cmd := s.command(t.argv[0], t.argv[1:]...)
			cmd.Stdin = strings.NewReader(t.input)
			if out, err := cmd.CombinedOutput(); err != nil {
				s.t.Fatalf("%v: %v: %s", t.argv, err, out)
			}
		}
		t.length = time.Since(start) / 2
	}
}

// shot is what is sent, to whom and when.
type shot struct {
	who    string // driver, group, one
	sigs   []syscall.Signal
	moment time.Duration
}

func (s *signalling) draw(t target, r *rand.Rand) shot {
	sigs := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL}
	x := shot{who: []string{"driver", "group", "group", "one"}[r.IntN(4)], sigs: []syscall.Signal{sigs[r.IntN(4)]},
		moment: time.Duration(r.Float64() * 1.2 * float64(t.length))}
	if r.IntN(4) == 0 {
		x.sigs = append(x.sigs, sigs[r.IntN(4)])
	}
	return x
}

// round runs one program and sends it its signals.
func (s *signalling) round(n int) {
	r := s.rng(n, 7)
	t := s.targets[r.IntN(len(s.targets))]
	if r.IntN(2) == 0 {
		t = s.targets[r.IntN(4)]
	}
	x := s.draw(t, r)
	what := fmt.Sprintf("round %d: %v to %s of %v after %v", n, x.sigs, x.who, t.argv, x.moment)
	cmd := s.command(t.argv[0], t.argv[1:]...)
	var errs bytes.Buffer
	cmd.Stderr, cmd.Stdin, cmd.WaitDelay = &errs, strings.NewReader(t.input), patient
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if t.open {
		read, write, err := os.Pipe()
		if err != nil {
			s.t.Error(err)
			return
		}
		defer write.Close()
		defer read.Close()
		io.WriteString(write, t.input)
		cmd.Stdin = read
	}
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return
	}
	pid, ended := cmd.Process.Pid, make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	time.Sleep(x.moment) // the moment is what is drawn
	below := s.send(pid, t, x, r)
	select {
	case err := <-ended:
		if err == exec.ErrWaitDelay {
			s.t.Errorf("%s: what it started holds its output", what)
		}
	case <-time.After(patient):
		s.t.Errorf("%s: it does not end: %s", what, &errs)
		syscall.Kill(-pid, syscall.SIGKILL)
		return
	}
	s.judge(what, t, x, cmd.ProcessState, errs.String())
	s.gone(what, pid, below)
}

// send sends the signals, and returns what runs below the program.
func (s *signalling) send(pid int, t target, x shot, r *rand.Rand) []int {
	below := process.Descendants(pid)
	to := pid
	switch {
	case x.who == "group":
		to = -pid
	case x.who == "one" && len(below) > 0:
		to = below[r.IntN(len(below))]
	}
	for i, sig := range x.sigs {
		if i > 0 {
			time.Sleep(time.Duration(r.Int64N(int64(30 * time.Millisecond))))
		}
		syscall.Kill(to, sig)
	}
	if t.open && to != pid && to != -pid { // it waits for more input
		syscall.Kill(pid, syscall.SIGTERM)
	}
	return below
}

// judge holds the exit code against the signals.
func (s *signalling) judge(what string, t target, x shot, state *os.ProcessState, stderr string) {
	code := state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	allowed := []int{0}
	for _, sig := range x.sigs {
		allowed = append(allowed, 128+int(sig))
	}
	if x.who == "one" {
		allowed = tableCodes
	}
	if !slices.Contains(allowed, code) {
		s.t.Errorf("%s: exit code %d, want one of %v: %s", what, code, allowed, stderr)
	}
	for _, never := range []string{"JSON envelope", "panic", "goroutine "} {
		if strings.Contains(stderr, never) {
			s.t.Errorf("%s: it says %s", what, stderr)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[fmt.Sprintf("%s %d", t.name, code)]++
}

// gone waits until nothing of a program's group runs, nor what was seen below it: the broker has a session of its own.
func (s *signalling) gone(what string, group int, below []int) {
	for end := time.Now().Add(patient); ; time.Sleep(2 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(below), func(p int) bool {
			return programOf(p) == "." || !strings.HasPrefix(programOf(p), "claw") && programOf(p) != "broker"
		})
		if err := syscall.Kill(-group, 0); err != nil && len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("%s: still there: group %d, %v", what, group, left)
			syscall.Kill(-group, syscall.SIGKILL)
			return
		}
	}
}

// afterwards looks at what is left on disk.
func (s *signalling) afterwards() {
	t := s.t
	s.alone()
	s.locksFree()
	log, err := receipt.OpenLog(filepath.Join(s.dir, "tool_receipts.log"),
		receipt.Options{Keys: filepath.Join(s.dir, "keys", "receipt"), RotateBytes: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// when permits have expired
	rec, err := log.Recover(receipt.RecoverOptions{Audit: filepath.Join(s.dir, "audit.jsonl"), Quiet: true,
		Now: time.Now().Add(2 * time.Minute)})
	if err != nil || rec.Pending > 0 {
		t.Errorf("recover: %v, %+v", err, rec)
	}
	s.must("claw-receipt", "verify", "--require", "head")
	s.must("claw-mem", "check", "--words")
	interrupted := outcomeHash(t, false, "", "interrupted, outcome unknown")
	byID, counts := map[string]receipt.Receipt{}, map[string]int{}
	receipts := readReceipts(t, s.dir)
	for _, r := range receipts {
		if _, twice := byID[r.ID]; twice {
			t.Errorf("two receipts have the id %s", r.ID)
		}
		byID[r.ID] = r
	}
	released := s.checkReleased(readAudit(t, s.dir), receipts, byID, interrupted, counts)
	remembered := s.checkMemory(byID, interrupted)
	t.Logf("%d calls released: %v; %d results remembered; recover wrote %d", len(released), counts, len(remembered),
		len(rec.Written))
	s.must("clawsh", "-n", "go") // all goes on, and private homes of brokers that were killed are swept
	for _, e := range s.env {
		if dir, ok := strings.CutPrefix(e, "TMPDIR="); ok {
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left in TMPDIR: %v", left)
			}
		}
	}
}

// locksFree holds that no lock is left.
func (s *signalling) locksFree() {
	turns, _ := filepath.Glob(filepath.Join(s.dir, "turns", "*"))
	for _, name := range append(turns, filepath.Join(s.dir, "under-way.lock")) {
		f, err := os.Open(name)
		if err != nil {
			s.t.Error(err)
			continue
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			s.t.Errorf("%s is locked: %v", name, err)
		}
		f.Close()
	}
}
