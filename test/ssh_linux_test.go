package test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/test/need"
)

// far is a host that is reached by ssh: an sshd of our own on this machine, and a home of its own.
type far struct {
	home   *home
	config string // of ssh
}

// newFar starts an sshd on a port of its own, with keys of its own, all in a temporary directory. It ends with the
// test.
func newFar(t *testing.T) *far {
	t.Helper()
	need.Program(t, "ssh", "sshd")
	sshd, err := exec.LookPath("sshd") // which wants to be started by its whole name
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, key := range []string{"host", "user", "stranger"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+key).
			CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if os.Getuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755) // sshd wants it where root runs it
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	f := &far{home: newHome(t), config: dir + "/config"}
	for name, text := range map[string]string{
		"sshd_config": fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\nPidFile none\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\n"+
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n", port,
			dir, dir),
		"config": fmt.Sprintf("Host far\n HostName 127.0.0.1\n Port %d\n User %s\n IdentityFile %s/user\n", port,
			me.Username, dir) +
			fmt.Sprintf("Host unknown\n HostName 127.0.0.1\n Port %d\n User %s\n IdentityFile %s/stranger\n", port,
				me.Username, dir) +
			fmt.Sprintf("Host *\n IdentitiesOnly yes\n IdentityAgent none\n BatchMode yes\n UserKnownHostsFile %s/known\n GlobalKnownHostsFile none\n StrictHostKeyChecking yes\n LogLevel ERROR\n", dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pub, _ := os.ReadFile(dir + "/host.pub")
	os.WriteFile(dir+"/known", fmt.Appendf(nil, "[127.0.0.1]:%d %s", port, pub), 0o600)
	cmd := exec.Command(sshd, "-D", "-e", "-f", dir+"/sshd_config")
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			return f
		}
		if time.Now().After(deadline) {
			t.Fatal("sshd does not listen")
		}
	}
}

// line is the words that run a stage on the far host.
func (f *far) line(host string, stage string) string {
	return fmt.Sprintf("ssh -F %s %s env %s %s", f.config, host, strings.Join(f.home.env, " "), stage)
}

// TestStagesBySSH: stages on two hosts, with two homes, of which public keys alone are carried over.
func TestStagesBySSH(t *testing.T) {
	t.Parallel()
	f, near := newFar(t), newHome(t)
	sh := func(script string, in string) (string, error) {
		cmd := exec.Command("bash", "-c", "set -o pipefail; "+script)
		cmd.Env, cmd.Stdin, cmd.Dir = near.env, strings.NewReader(in), near.dir
		out, err := cmd.Output()
		return string(out), err
	}
	must := func(script string, in string) string {
		t.Helper()
		out, err := sh(script, in)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	call := func(id, path string) string {
		return fmt.Sprintf(`{"v":1,"kind":"tool_call","id":"call-%s","conversation_id":"conv-1","tool":"file_list","args":{"path":"%s"}}`+"\n", id, path)
	}
	// the public keys, one way and the other
	said := must("claw-gate keys | "+f.line("far", "claw-exec accept"), "")
	_, executor, ok := strings.Cut(strings.TrimSpace(said), "--executor ")
	if !ok {
		t.Fatalf("accept says %q", said)
	}
	must(f.line("far", "claw-exec keys")+" | claw-receipt accept", "")
	gate := "claw-gate --executor " + executor
	chain := gate + " | " + f.line("far", "claw-exec") + " | claw-receipt"

	// success and denial, each with a receipt that somebody vouches for
	for path, want := range map[string]string{".": `"status":"allowed"`, "/etc": `"status":"denied"`} {
		if out := must(chain, call("1", path)); !strings.Contains(out, want) ||
			!strings.Contains(out, `"receipt_id"`) || strings.Contains(out, `"unattested"`) {
			t.Errorf("%s: %s", path, out)
		}
	}
	// replay, in another connection; and where it was not made out to
	must(gate+" >gated", call("2", "."))
	if out := must(f.line("far", "claw-exec")+" <gated", ""); !strings.Contains(out, `"status":"allowed"`) {
		t.Error(out)
	}
	if out := must(f.line("far", "claw-exec")+" <gated", ""); !strings.Contains(out, "used before") {
		t.Error(out)
	}
	if out := must(gate+" | claw-exec", call("3", ".")); !strings.Contains(out, "not signed for executor") {
		t.Error(out)
	}
	if out := must("claw-gate | "+f.line("far", "claw-exec"), call("4", ".")); !strings.Contains(out,
		"not signed for executor") {
		t.Error(out)
	}
	// another gate's key, and a key of ssh that is not known there
	other := newHome(t)
	must("env "+strings.Join(other.env, " ")+" "+gate+" >gated", call("5", "."))
	if out := must(f.line("far", "claw-exec")+" <gated", ""); !strings.Contains(out, "is not accepted here") {
		t.Error(out)
	}
	if out, err := sh(gate+" | "+f.line("unknown", "claw-exec"), call("6", ".")); err == nil ||
		strings.Contains(out, "allowed") {
		t.Errorf("with a key that is not known: %v: %s", err, out)
	}
	// receipts and memory over there
	must("claw-exec keys | "+f.line("far", "claw-receipt accept"), "")
	must("claw-gate | claw-exec | "+f.line("far", "claw-receipt")+" | "+f.line("far", "claw-mem")+" >kept",
		call("7", "."))
	if out := must("cat kept", ""); !strings.Contains(out, `"receipt_id"`) || strings.Contains(out, `"unattested"`) {
		t.Error(out)
	}
	if out := must(f.line("far", "claw-mem show conv-1"), ""); !strings.Contains(out, "file_list") {
		t.Error(out)
	}
	if out := must(f.line("far", "claw-receipt verify --attested"), ""); !strings.Contains(out, "head agrees") {
		t.Error(out)
	}
	// the policy of this host changes: it has to be accepted again
	cfg := near.dir + "/.clawsh/config.toml"
	text, _ := os.ReadFile(cfg)
	os.WriteFile(cfg, []byte(strings.Replace(string(text), `autonomy = "supervised"`, `autonomy = "full"`, 1)), 0o600)
	if out := must(chain, call("8", ".")); !strings.Contains(out, "its policy is not accepted here") {
		t.Error(out)
	}
	must("claw-gate keys | "+f.line("far", "claw-exec accept"), "")
	if out := must(chain, call("9", ".")); !strings.Contains(out, `"status":"allowed"`) {
		t.Error(out)
	}
	must("claw-receipt verify --attested", "")
}
