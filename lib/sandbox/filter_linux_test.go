package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/seccomp"
	"clawsh/test/need"
)

// Kernels that are newer than the table have more calls than these.
const lastNumber = 600

// reached is what allowed calls fail with in tests: no kernel uses the number.
const reached = 222

// probe is one system call.
type probe struct {
	Number uint32
	Args   [6]uint64
}

// judge lets the kernel judge calls by a filter, in a child of which one thread is held to it. What is allowed fails
// with reached, so nothing is called.
func judge(t *testing.T, bare bool, probes []probe) []unix.Errno {
	t.Helper()
	b, err := json.Marshal(probes)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "judge", strconv.FormatBool(bare))
	cmd.Env = []string{"GODEBUG=asyncpreemptoff=1", "GOGC=off", "GOMAXPROCS=2"}
	cmd.Stdin = strings.NewReader(string(b))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var verdicts []unix.Errno
	if err := json.Unmarshal(out, &verdicts); err != nil || len(verdicts) != len(probes) {
		t.Fatalf("%d verdicts: %v: %s", len(verdicts), err, out)
	}
	return verdicts
}

// judgeHere is the child.
func judgeHere(bare bool) error {
	var probes []probe
	if err := json.NewDecoder(os.Stdin).Decode(&probes); err != nil {
		return err
	}
	f := filter(bare)
	for i, r := range f.Rules {
		if r.Action == seccomp.Allow {
			f.Rules[i].Action = seccomp.Errno(reached)
		}
	}
	p, err := f.Assemble()
	if err != nil {
		return err
	}
	verdicts := make([]unix.Errno, len(probes))
	var done atomic.Bool
	go func() {
		runtime.LockOSThread()
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err := p.Install(false); err != nil {
			panic(err)
		}
		ask(probes, verdicts)
		done.Store(true)
		rest()
	}()
	for !done.Load() {
		time.Sleep(time.Millisecond)
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

// ask makes the calls. The race detector would make calls of its own among them.
//
//go:norace
func ask(probes []probe, verdicts []unix.Errno) {
	for i, c := range probes {
		a := c.Args
		_, _, verdicts[i] = syscall.RawSyscall6(uintptr(c.Number), uintptr(a[0]), uintptr(a[1]), uintptr(a[2]),
			uintptr(a[3]), uintptr(a[4]), uintptr(a[5]))
	}
}

// rest keeps the thread for the rest of the process: the runtime could do nothing else with it any more.
//
//go:norace
//go:nosplit
func rest() {
	for {
		syscall.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	}
}

// table is what the entries say of each call by its number: the verdict where no argument decides.
func table(bare bool) (plain map[uintptr]seccomp.Action, byArgs map[uintptr]checked) {
	plain, byArgs = map[uintptr]seccomp.Action{}, map[uintptr]checked{}
	for _, g := range slices.Concat(groups, refusedCalls, groupsHere) {
		for _, nr := range g.calls {
			plain[nr] = g.do
			if bare && g.bare != 0 {
				plain[nr] = g.bare
			}
		}
	}
	for _, c := range slices.Concat(checkedCalls, checkedHere) {
		for _, nr := range c.calls {
			byArgs[nr] = c
		}
	}
	return plain, byArgs
}

// asErrno is how a verdict shows in judge.
func asErrno(a seccomp.Action) unix.Errno {
	if a == seccomp.Allow {
		return reached
	}
	if a == seccomp.Notify {
		return unix.ENOSYS // nobody listens
	}
	return unix.Errno(a & 0xffff)
}

// Every number that a kernel may have meets the verdict of its entry, and one without an entry does not exist.
func TestEveryNumberMeetsItsEntry(t *testing.T) {
	for _, bare := range []bool{false, true} {
		plain, byArgs := table(bare)
		var probes []probe
		for nr := range uint32(lastNumber) {
			if _, ok := byArgs[uintptr(nr)]; ok { // TestArguments
				continue
			}
			// The kernel shows no filter the calls of its own trampolines, and kills who calls them from elsewhere.
			if runtime.GOARCH == "amd64" && (nr == 335 || nr == 336) {
				continue
			}
			probes = append(probes, probe{Number: nr})
		}
		for i, got := range judge(t, bare, probes) {
			nr := probes[i].Number
			want, ok := plain[uintptr(nr)]
			if !ok {
				want = enosys
			}
			if got != asErrno(want) {
				t.Errorf("call %d (bare %v): %v, want %v", nr, bare, got, asErrno(want))
			}
		}
	}
}

// Every entry says why, no call is in two, every case of arguments can be reached, and every call that the library
// knows is in one.
func TestEntriesAreWhole(t *testing.T) {
	seen := map[uintptr]string{}
	once := func(why string, calls []uintptr) {
		if len(why) < 10 || len(calls) == 0 {
			t.Errorf("an entry without a reason or without calls: %q %v", why, calls)
		}
		for _, nr := range calls {
			if seen[nr] != "" {
				t.Errorf("call %d is in two entries: %q and %q", nr, seen[nr], why)
			}
			seen[nr] = why
		}
	}
	for _, g := range slices.Concat(groups, refusedCalls, groupsHere) {
		once(g.why, g.calls)
		if g.do == 0 {
			t.Errorf("%q has no verdict", g.why)
		}
	}
	for _, c := range slices.Concat(checkedCalls, checkedHere) {
		once(c.why, c.calls)
		for _, a := range c.cases {
			if a.why == "" || a.do == 0 || len(a.args) == 0 && !a.bare {
				t.Errorf("%q: a case without a reason, a verdict or arguments: %+v", c.why, a)
			}
		}
	}
	for name, nr := range numbers(t, runtime.GOARCH) {
		if seen[nr] == "" && nr <= 469 {
			t.Errorf("SYS_%s (%d) is in no entry", name, nr)
		}
	}
}

// The other machine's table names every call that it has.
func TestEntriesOfOtherMachine(t *testing.T) {
	var text strings.Builder
	for _, f := range []string{"calls_linux.go", "calls_refused_linux.go", "calls_checked_linux.go"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	for name, nr := range numbers(t, "arm64") {
		if name != "ARCH_SPECIFIC_SYSCALL" && nr <= 469 && !regexp.MustCompile(`\bSYS_`+name+`\b`).
			MatchString(text.String()) {
			t.Errorf("SYS_%s is in no entry", name)
		}
	}
}

// numbers are the calls that the library knows of a machine.
func numbers(t *testing.T, arch string) map[string]uintptr {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(strings.TrimSpace(string(dir)) + "/unix/zsysnum_linux_" + arch + ".go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uintptr{}
	for _, m := range regexp.MustCompile(`SYS_(\w+)\s*= (\d+)`).FindAllStringSubmatch(string(b), -1) {
		nr, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		all[m[1]] = uintptr(nr)
	}
	if len(all) < 300 {
		t.Fatalf("%d calls", len(all))
	}
	return all
}

// What ordinary programs were seen to call is allowed, but for what is refused with a reason.
func TestRecordedCallsAreAllowed(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		need.Skip(t, need.AMD64, "the calls were recorded there")
	}
	f, err := os.Open("../../testdata/calls/recorded.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, byArgs := table(false)
	known := numbers(t, runtime.GOARCH)
	refused := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "\t")
		if strings.HasPrefix(name, "#") {
			continue
		}
		nr, ok := known[strings.ToUpper(name)]
		if !ok {
			t.Errorf("there is no call %s", name)
		}
		if _, ok := byArgs[nr]; !ok && plain[nr] != allow {
			refused[name] = true
		}
	}
	if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, recordedRefused) {
		t.Errorf("recorded and refused: %q, want %q", got, recordedRefused)
	}
}

// recordedRefused were seen to be called, and are refused all the same: clone3 for clone, memfd_create and the memory
// policies by programs that do without (cargo, java), the others by programs that are to fail: servers and clients of
// the network, dmesg, taskset, apt-get.
var recordedRefused = []string{"bind", "clone3", "connect", "get_mempolicy", "listen", "memfd_create",
	"sched_setaffinity", "set_mempolicy", "setgroups",
	"syslog"}

func init() {
	if len(os.Args) == 3 && os.Args[1] == "judge" {
		if err := judgeHere(os.Args[2] == "true"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) // the race detector's own end needs all threads
	}
}
