package test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// memProcess is a claw-mem that is fed numbered messages.
type memProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr bytes.Buffer
}

func startMem(t *testing.T, h *home, argv ...string) *memProcess {
	t.Helper()
	p := &memProcess{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env, p.cmd.Stderr = h.env, &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// feed writes messages until there are n or the process reads no more.
func (p *memProcess) feed(name string, n int) {
	defer p.in.Close()
	for i := range n {
		_, err := fmt.Fprintf(p.in,
			`{"v":1,"kind":"user","id":"%s-%d","conversation_id":"conv-%s","turn_id":"turn-%d","content":"message %s %d %s"}`+"\n", name, i, name, i, name, i, strings.Repeat("word ", 40))
		if err != nil {
			return
		}
	}
}

// acknowledged reads what is passed on, up to n records, and returns their ids; an error record is none.
func (p *memProcess) acknowledged(n int) (ids []string) {
	for len(ids) < n && p.out.Scan() {
		line, err := record.Parse(p.out.Bytes())
		if err != nil || line.Kind() != record.KindUser {
			return ids // cut off by the end of the process, or refused
		}
		ids = append(ids, line.ID())
	}
	return ids
}

// holds fails unless the memory is sound and all ids can be exported from it.
func holds(t *testing.T, h *home, ids []string) {
	t.Helper()
	out, errOut, code := h.run(t, "claw-mem", "export")
	if code != 0 {
		t.Fatalf("export: %s", errOut)
	}
	lost := 0
	for _, id := range ids {
		if !strings.Contains(out, `"id":"`+id+`"`) {
			lost++
		}
	}
	if lost > 0 || len(ids) == 0 {
		t.Errorf("%d of %d acknowledged records are lost", lost, len(ids))
	}
	if out, errOut, code := h.run(t, "claw-mem", "check", "--words", "--repair-mirror"); code != 0 {
		t.Errorf("check: exit %d\n%s%s", code, out, errOut)
	}
}

// TestEightProcessesRemember: eight claw-mem write at once without an error, and others read, delete and back up
// meanwhile.
func TestEightProcessesRemember(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	const each = 60
	var all sync.WaitGroup
	ids := make([][]string, 8)
	for i := range ids {
		p := startMem(t, h, bin+"/claw-mem")
		name := fmt.Sprint("w", i)
		go p.feed(name, each)
		all.Go(func() {
			ids[i] = p.acknowledged(each)
			if err := p.cmd.Wait(); err != nil || len(ids[i]) != each || p.stderr.Len() > 0 {
				t.Errorf("%s: %d acknowledged, %v: %s", name, len(ids[i]), err, &p.stderr)
			}
		})
	}
	for i := range 3 {
		for _, words := range [][]string{{"check"}, {"list"}, {"backup", fmt.Sprintf("%s/copy-%d", h.dir, i)},
			{"usage"}} {
			_, errOut, code := h.run(t, append([]string{"claw-mem"}, words...)...)
			if code != 0 && (words[0] != "check" || strings.Contains(errOut, "memory.")) {
				t.Errorf("claw-mem %v beside eight writers: exit %d: %s", words, code, errOut)
			}
		}
	}
	if _, errOut, code := h.run(t, "claw-mem", "delete", h.conv, "--yes"); code != 0 {
		t.Errorf("delete beside eight writers: %s", errOut)
	}
	all.Wait()
	var acknowledged []string
	for _, list := range ids {
		acknowledged = append(acknowledged, list...)
	}
	holds(t, h, acknowledged)
	if _, _, code := h.run(t, "claw-mem", "show", h.conv); code != 1 {
		t.Error("the deleted conversation is back")
	}
}

// TestKilledProcessesLoseNothing kills two writers at random moments, again and again.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var acknowledged []string
	for round := range 8 {
		a, b := startMem(t, h, bin+"/claw-mem"), startMem(t, h, bin+"/claw-mem")
		for i, p := range []*memProcess{a, b} {
			go p.feed(fmt.Sprintf("k%d-%d", round, i), 5000)
		}
		acknowledged = append(acknowledged, a.acknowledged(1+rand.IntN(60))...)
		for _, p := range []*memProcess{a, b} {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			acknowledged = append(acknowledged, p.acknowledged(1<<30)...)
			p.cmd.Wait()
		}
	}
	holds(t, h, acknowledged)
}

// fullDisk is run in namespaces of its own, where it may mount a small disk: it fills the disk through claw-mem, looks
// at what is there while it is full, and again when there is room.
const fullDisk = `set -e
mkdir -p "$CLAWSH_HOME"
mount -t tmpfs -o mode=700,size=1500k tmpfs "$CLAWSH_HOME"
clawsh init >/dev/null
set +e
claw-mem >acknowledged; echo "full: exit $?"
claw-mem check >while-full 2>&1; echo "check: exit $?"
claw-mem export >exported-full; echo "export: exit $?"
mount -o remount,mode=700,size=20m tmpfs "$CLAWSH_HOME"
claw-mem check --repair-mirror --words >checked; echo "then: exit $?"
echo '{"v":1,"kind":"user","id":"after","content":"room again"}' | claw-mem >/dev/null; echo "after: exit $?"
claw-mem export >exported
`

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		need.Skip(t, need.Namespaces, "a small disk of our own cannot be made: %v", err)
	}
	dir := t.TempDir()
	h := &home{dir: dir, env: []string{"HOME=" + dir, "CLAWSH_HOME=" + dir + "/.clawsh", "PATH=" + bin + ":" +
		os.Getenv("PATH"), "TMPDIR=" + dir}}
	p := startMem(t, h, "unshare", "-rm", "--", "sh", "-c", "cd \"$HOME\"\n"+fullDisk)
	go p.feed("full", 6000)
	var said []string
	for p.out.Scan() {
		said = append(said, p.out.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("%v: %q %s", err, said, &p.stderr)
	}
	if got := strings.Join(said,
		", "); got != "full: exit 1, check: exit 1, export: exit 0, then: exit 0, after: exit 0" &&
		got != "full: exit 1, check: exit 0, export: exit 0, then: exit 0, after: exit 0" {
		t.Errorf("%s\n%s", got, &p.stderr)
	}
	passed, err := os.ReadFile(dir + "/acknowledged")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	refused := 0
	for l := range bytes.Lines(passed) {
		line, err := record.Parse(bytes.TrimSpace(l))
		if err != nil {
			t.Fatal(err)
		}
		if line.Kind() == record.KindUser {
			ids = append(ids, line.ID())
		} else if refused++; line.Text("code") != "memory.failed" || !bytes.Contains(l, []byte("full")) {
			t.Fatalf("refused with %s", l)
		}
	}
	if len(ids) < 20 || refused == 0 {
		t.Fatalf("%d acknowledged, %d refused: the disk was not what was full", len(ids), refused)
	}
	for _, name := range []string{"exported-full", "exported"} {
		out, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if !bytes.Contains(out, []byte(`"id":"`+id+`"`)) {
				t.Errorf("%s was acknowledged and is not in %s", id, name)
			}
		}
	}
}
