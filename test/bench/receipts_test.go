//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/lib/receipt"
	"clawsh/lib/record"
)

// TestMain lets the test binary be one of several processes that append.
func TestMain(m *testing.M) {
	dir := os.Getenv("CLAWSH_BENCH_WRITER")
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := writer(dir); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// receipts is how many receipts the large log has.
func receipts() int {
	if n, err := strconv.Atoi(os.Getenv("CLAWSH_BENCH_RECEIPTS")); err == nil && n > 0 {
		return n
	}
	return 1_000_000
}

// BenchmarkReceiptVerify is `claw-receipt verify` of a log with macs and a signed head against `sha256sum` of the same
// bytes, and its memory against that for a short log.
func BenchmarkReceiptVerify(b *testing.B) {
	p, n := newPlace(b), receipts()
	short, long := p.longLog(b, "short.log", 10_000), p.longLog(b, "long.log", n)
	verify := func(log string, watch func(pid int)) {
		cmd := p.command("claw-receipt", "verify", "--log", log, "--require", "head", "--output-format", "json")
		var out bytes.Buffer
		cmd.Stdout = &out
		err := cmd.Start()
		if err == nil {
			watch(cmd.Process.Pid)
			err = cmd.Wait()
		}
		if err != nil || !bytes.Contains(out.Bytes(), []byte(`"head":"agrees"`)) {
			b.Fatalf("%v: %s", err, out.String())
		}
	}
	sum := func() {
		if err := exec.Command("sha256sum", long).Run(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		got, reference := pair(7, func() { verify(long, func(int) {}) }, sum)
		report(b, fmt.Sprintf("verify %d receipts, beside sha256sum", n), got, reference, 6)
		var many, few int
		verify(long, func(pid int) { many = peak(pid) })
		verify(short, func(pid int) { few = peak(pid) })
		fmt.Printf("%-44s %9.1f MB   of 10000: %10.1f MB   %5.2f times   aim: flat\n",
			fmt.Sprintf("peak memory of verify of %d receipts", n),
			float64(many)/1024, float64(few)/1024, float64(many)/float64(few))
	}
}

// peak watches a process until it ends, and returns its peak resident memory in KiB. What the system tells of one that
// has ended counts the memory of the one that started it, this one.
func peak(pid int) (kb int) {
	for {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		if err != nil || !ok {
			return kb
		}
		if filepath.Base(exe) == "claw-receipt" {
			fmt.Sscan(rest, &kb)
		}
	}
}

// longLog makes a log of n receipts with macs, by what is documented of them and not by Append, which syncs each;
// Accept, which verifies them, signs its head. The log has the keys of the place's home.
func (p *place) longLog(b *testing.B, name string, n int) string {
	b.Helper()
	keys, path := filepath.Join(p.home, ".clawsh", "keys", "receipt"), filepath.Join(p.home, name)
	secret, err := os.ReadFile(filepath.Join(keys, "receipt.key"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(secret), "\nmac ")
	rest, _, _ = strings.Cut(rest, " ") // behind it: from which receipt on
	key, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	mac, previous := hmac.New(sha256.New, key), receipt.Genesis
	for i := range n {
		id, args, result := fmt.Sprintf("receipt-%08x-0000-7000-8000-%012x", i, i), hashOf(strconv.Itoa(i)),
			hashOf(fmt.Sprint("result ", i))
		hash := hashOf(fmt.Sprintf(`{"args_hash":"%s","conversation_id":"%s","id":"%s","previous_hash":"%s","result_hash":"%s","risk":"low",`+
			`"status":"allowed","timestamp":"%s","tool":"file_read"}`, args, conversation, id, previous, result, when))
		mac.Reset()
		mac.Write([]byte("clawsh receipt mac v1\n" + hash))
		fmt.Fprintf(w,
			`{"id":"%s","timestamp":"%s","conversation_id":"%s","tool":"file_read","args_hash":"%s","result_hash":"%s",`+
				`"status":"allowed","risk":"low","previous_hash":"%s","receipt_hash":"%s","mac":"%x"}`+"\n", id, when,
			conversation, args, result, previous, hash, mac.Sum(nil))
		previous = hash
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if rep, err := receipt.Accept(path, receipt.Options{Keys: keys}, receipt.Loss{}); err != nil || !rep.Valid ||
		rep.Count != n {
		b.Fatal(rep, err)
	}
	return path
}

const (
	conversation = "0198f000-0000-7000-8000-000000000001"
	when         = "2026-05-12T14:00:00.000Z"
)

func hashOf(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// BenchmarkReceiptAppend is an append of a receipt, synced, against the bare write and fdatasync of a line of the same
// length to a file in the same directory: by one process, and by eight at once to one file. The two take turns, so that
// a disk that is slow for a while is slow for both.
func BenchmarkReceiptAppend(b *testing.B) {
	for b.Loop() {
		for _, c := range []struct{ writers, rounds, each int }{{1, 20, 50}, {8, 10, 50}} {
			dir, system := diskDir(b)
			keys := filepath.Join(dir, "keys")
			if _, err := receipt.CreateKeys(keys, filepath.Join(dir, "log")); err != nil {
				b.Fatal(err)
			}
			var took [2][]time.Duration
			for range c.rounds {
				for i, mode := range []string{"append", "bare"} {
					took[i] = append(took[i], together(b, dir, mode, c.writers, c.each)...)
				}
			}
			what := fmt.Sprintf("append+sync a receipt, %d at once, %s", c.writers, system)
			report(b, what+", p50", quantile(took[0], 50), quantile(took[1], 50), 1.5)
			fmt.Printf("%-44s %9.2f ms   reference %8.2f ms\n", what+", p95", ms(quantile(took[0], 95)),
				ms(quantile(took[1], 95)))
			src, err := receipt.Open(filepath.Join(dir, "log"))
			if err != nil {
				b.Fatal(err)
			}
			k, err := receipt.LoadKeys(keys)
			if err != nil {
				b.Fatal(err)
			}
			if rep, err := receipt.Verify(src, receipt.Trust{Keys: k}); err != nil || !rep.Valid ||
				rep.Count != c.writers*c.rounds*c.each {
				b.Fatalf("the log that was written: %+v, %v", rep, err)
			}
			src.Close()
		}
	}
}

func quantile(d []time.Duration, percent int) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)*percent/100]
}

// diskDir is a directory on a disk, if there is one, and the name of its file system.
func diskDir(b *testing.B) (dir, system string) {
	b.Helper()
	for _, parent := range []string{"", "/var/tmp", "."} {
		dir, err := os.MkdirTemp(parent, "clawsh-bench-")
		var s syscall.Statfs_t
		if err != nil || syscall.Statfs(dir, &s) != nil {
			continue
		}
		b.Cleanup(func() { os.RemoveAll(dir) })
		const tmpfs, ext, btrfs, xfs = 0x01021994, 0xef53, 0x9123683e, 0x58465342
		if system = map[int64]string{ext: "ext4", btrfs: "btrfs", xfs: "xfs"}[s.Type]; s.Type != tmpfs {
			if system == "" {
				system = fmt.Sprintf("file system %#x", s.Type)
			}
			return dir, system
		}
	}
	return b.TempDir(), "tmpfs, where a sync costs nothing"
}

// together lets several processes each write so many lines, all at the same time, and returns how long each line took.
func together(b *testing.B, dir, mode string, writers, each int) (took []time.Duration) {
	b.Helper()
	start, err := os.Create(filepath.Join(dir, "start"))
	if err != nil {
		b.Fatal(err)
	}
	// they start when they get this lock, which they share
	if err := syscall.Flock(int(start.Fd()), syscall.LOCK_EX); err != nil {
		b.Fatal(err)
	}
	cmds, outs := make([]*exec.Cmd, writers), make([]bytes.Buffer, writers)
	for i := range cmds {
		cmds[i] = exec.Command(os.Args[0])
		cmds[i].Env = append(os.Environ(), "CLAWSH_BENCH_WRITER="+dir, "CLAWSH_BENCH_MODE="+mode,
			fmt.Sprint("CLAWSH_BENCH_EACH=", each))
		cmds[i].Stdout = &outs[i]
		if err := cmds[i].Start(); err != nil {
			b.Fatal(err)
		}
	}
	start.Close()
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			b.Fatalf("%v: %s", err, outs[i].String())
		}
		for field := range strings.FieldsSeq(outs[i].String()) {
			d, err := time.ParseDuration(field)
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, d)
		}
	}
	return took
}

// writer is one of these processes.
func writer(dir string) error {
	each, err := strconv.Atoi(os.Getenv("CLAWSH_BENCH_EACH"))
	if err != nil {
		return err
	}
	var write func(i int) error
	if os.Getenv("CLAWSH_BENCH_MODE") == "append" {
		l, err := receipt.OpenLog(filepath.Join(dir, "log"), receipt.Options{Keys: filepath.Join(dir, "keys")})
		if err != nil {
			return err
		}
		defer l.Close()
		write = func(i int) error { _, err := l.Append(result(i)); return err }
	} else {
		f, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		line := append(bytes.Repeat([]byte("x"), lineBytes-1), '\n')
		write = func(int) error {
			if _, err := f.Write(line); err != nil {
				return err
			}
			return syscall.Fdatasync(int(f.Fd()))
		}
	}
	start, err := os.Open(filepath.Join(dir, "start"))
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(start.Fd()), syscall.LOCK_SH); err != nil {
		return err
	}
	took := make([]time.Duration, each)
	for i := range took {
		t := time.Now()
		if err := write(i); err != nil {
			return err
		}
		took[i] = time.Since(t)
	}
	for _, d := range took {
		fmt.Println(d)
	}
	return nil
}

// lineBytes is the length of the receipt of result with its newline.
const lineBytes = 614

func result(i int) record.ToolResult {
	return record.ToolResult{ID: fmt.Sprint("call-", i), ConversationID: conversation, Tool: "file_read",
		Args: record.Raw(`{"path":"a"}`), Status: "allowed",
		Success: true, Output: fmt.Sprint(i), Verdict: &record.Verdict{Risk: "low"}}
}
