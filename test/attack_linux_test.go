package test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clawsh/test/need"
)

// gaps are what engines do not promise, and say so (claw-exec sandbox): a gap that is none any more is a failure, too.
var gaps = map[string][]string{
	// Devices that everybody may write to have times that everybody may set; bwrap cannot mount them read-only.
	"bubblewrap": {"files: times of /dev/"},
	"landlock": {"files: .git/config", "files: .git/hooks", "files: move .git", "files: nested .git", "secrets: see",
		"temporary:", "processes: see outside",
		"files: .git by exchange", "files: .git chmod", "files: .git times"},
}

// The attack program finds nothing that it can do inside an engine but what that engine does not promise, as the user
// who runs the tests and, if that is root, as another one too.
func TestAttack(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"native", "bubblewrap", "landlock"} {
		for _, uid := range uids() {
			t.Run(engine+"/uid"+strconv.Itoa(uid), func(t *testing.T) { attack(t, engine, uid) })
		}
	}
}

// wanting is what lacks where an engine cannot be set up: bubblewrap does not bound the processes of root, and says so.
func wanting(engine string, uid int) string {
	if engine == "bubblewrap" && uid == 0 {
		return need.RootTasks
	}
	return engine
}

func uids() []int {
	const nobody = 65534
	other := exec.Command("/bin/true")
	if other.SysProcAttr = credential(nobody); os.Getuid() == 0 && other.Run() == nil {
		return []int{0, nobody}
	}
	return []int{os.Getuid()}
}

// sharedDir is a directory that another user can get into.
func sharedDir(t *testing.T, uid int) string {
	dir, err := os.MkdirTemp("", "attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir, _ = filepath.EvalSymlinks(dir)
	os.Chmod(dir, 0o755)
	os.Chown(dir, uid, uid)
	return dir
}

func attack(t *testing.T, engine string, uid int) {
	dir, secrets := plantAttack(t, uid)
	w, readable, program, launcher := dir+"/w", dir+"/bin/readable", dir+"/bin/attack", dir+"/bin/claw-exec"
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	local, err := net.Listen("unix", w+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	os.Chmod(w+"/socket", 0o777)
	abstract, err := net.Listen("unix", "@"+filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	arrived := mailboxes(t, dir+"/dgram", "@"+filepath.Base(dir)+"-dgram", w+"/dgram")
	sentinel := bystander(t, uid)
	env := []string{"CLAWSH_ATTACK=1", "ATTACK_TCP=" + tcp.Addr().String(), "ATTACK_UNIX=" + w + "/socket",
		"ATTACK_ABSTRACT=" + filepath.Base(dir),
		"ATTACK_HIDDEN=" + strings.Join(secrets, ":"), "ATTACK_TMP=" + dir + "/tmpfile", "ATTACK_READABLE=" + readable,
		"ATTACK_DGRAM=" + dir + "/dgram", "ATTACK_PID=" + strconv.Itoa(sentinel.Process.Pid), "PATH=/usr/bin:/bin"}
	before := around(t, dir)
	out, code := confined(t, launcher, engine, w, env, uid, program)
	if code == 71 {
		need.Skip(t, wanting(engine, uid), "%s cannot be set up here: %s", engine, out)
	}
	if code != 0 || !strings.Contains(out, "tried ") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	judgeAttempts(t, engine, uid, out)
	unchanged(t, engine, dir, before)
	if n := arrived(); n > 0 {
		t.Errorf("%s: %d messages arrived", engine, n)
	}
}

// bystander is a process of the user outside. Its number is one that no process of the sandbox has: there, they begin
// with 1 again.
func bystander(t *testing.T, uid int) *exec.Cmd {
	t.Helper()
	for {
		c := exec.Command("/bin/sleep", "600")
		c.SysProcAttr = credential(uid)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		end := func() { c.Process.Kill(); c.Wait() }
		if c.Process.Pid >= 1<<13 {
			t.Cleanup(end)
			return c
		}
		end()
	}
}

// plantAttack makes a place with secrets, what must not change, and the programs of the attack.
func plantAttack(t *testing.T, uid int) (dir string, secrets []string) {
	t.Helper()
	dir = sharedDir(t, uid)
	w := dir + "/w"
	for _, d := range []string{w, w + "/.git", w + "/.git/hooks", w + "/sub", w + "/sub/.git", dir + "/home",
		dir + "/home/.ssh",
		dir + "/home/.clawsh", dir + "/home/.clawsh/keys", dir + "/home/.clawsh/keys/exec", dir + "/bin"} {
		os.Mkdir(d, 0o755)
		os.Chown(d, uid, uid)
	}
	secrets = []string{dir + "/home/.ssh/id_ed25519", dir + "/home/.netrc", dir + "/home/.clawsh/keys/exec/seal.key"}
	readable := dir + "/bin/readable"
	for _, f := range append(slices.Clone(secrets), w+"/.git/config", w+"/sub/.git/config", dir+"/tmpfile", readable) {
		os.WriteFile(f, []byte("planted"), 0o644)
		os.Chown(f, uid, uid)
	}
	program, launcher := dir+"/bin/attack", dir+"/bin/claw-exec"
	build := exec.Command("go", "build", "-o", program, "./test/attack")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(bin, "claw-exec"))
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(launcher, b, 0o755)
	return dir, secrets
}

// judgeAttempts reads what the attack tells of each of its attempts.
func judgeAttempts(t *testing.T, engine string, uid int, out string) {
	t.Helper()
	var used []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "broken ") {
			t.Errorf("%s: %s", engine, line)
		}
		name, ok := strings.CutPrefix(line, "possible ")
		if !ok {
			continue
		}
		if engine != "landlock" && (strings.HasSuffix(name, " directory, temporary") ||
			strings.HasSuffix(name, " beside, temporary")) {
			continue // in a /tmp of its own: what lies around the workspace is looked at
		}
		if i := slices.IndexFunc(gaps[engine], func(g string) bool { return strings.HasPrefix(name, g) }); i >= 0 {
			used = append(used, gaps[engine][i])
			continue
		}
		t.Errorf("%s: it is possible: %s", engine, name)
	}
	for _, g := range gaps[engine] {
		if !slices.Contains(used, g) && !(uid == 0 && strings.HasPrefix(g, "processes")) {
			t.Errorf("%s: %q is no gap any more", engine, g)
		}
	}
	tried := 0
	if _, n, ok := strings.Cut(out, "tried "); !ok ||
		func() error { _, err := fmt.Sscan(n, &tried); return err }() != nil || tried < leastAttempts {
		t.Errorf("%s: %d attempts, want %d", engine, tried, leastAttempts)
	}
}

// unchanged checks that the attack has left everything around the workspace as it was.
func unchanged(t *testing.T, engine, dir string, before map[string]string) {
	t.Helper()
	for path, was := range before {
		if now := around(t, dir)[path]; now != was {
			t.Errorf("%s: it changed %s: %s, before %s", engine, path, now, was)
		}
	}
	if now := around(t, dir); len(now) != len(before) {
		t.Errorf("%s: there are %d files around the workspace, %d before", engine, len(now), len(before))
	}
}

// around is what lies around the workspace, and all that is known of it but when it was read last.
func around(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == dir+"/w" && d.IsDir():
			return filepath.SkipDir
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			return err
		}
		text := ""
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("%x", sha256.Sum256(b))
		}
		names := make([]byte, 1000)
		n, _ := syscall.Listxattr(path, names)
		found[path] = fmt.Sprintf("%s %o %d %d %v %q", text, st.Mode, st.Uid, st.Nlink, st.Ctim, names[:max(n, 0)])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// leastAttempts is how many things the program attempts, at least.
const leastAttempts = 1000

// mailboxes are sockets of the user that take messages from anybody. The function tells how many have come.
func mailboxes(t *testing.T, names ...string) func() int {
	var all []net.PacketConn
	for _, name := range names {
		c, err := net.ListenPacket("unixgram", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if !strings.HasPrefix(name, "@") {
			os.Chmod(name, 0o777)
		}
		all = append(all, c)
	}
	return func() (n int) {
		for _, c := range all {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			for {
				if _, _, err := c.ReadFrom(make([]byte, 16)); err != nil {
					break
				}
				n++
			}
		}
		return n
	}
}

func credential(uid int) *syscall.SysProcAttr {
	if uid == os.Getuid() {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: false}}
}

// confined runs a program by claw-exec confine, with a secret in the environment of that one and a file open.
func confined(t *testing.T, launcher, engine, workspace string, env []string, uid int, argv ...string) (string, int) {
	t.Helper()
	spec := `{"engine":"` + engine + `","workspace":"` + workspace + `","timeout_s":120,"read":["` +
		filepath.Dir(argv[0]) + `"],"env":["` + strings.Join(env, `","`) + `"],` +
		`"limits":{"memory_bytes":268435456,"processes":64,"open_files":256,"cpus":1,"cpu_s":20,"file_bytes":67108864,"tmp_bytes":16777216}}`
	cmd := exec.Command(launcher, append([]string{"confine", spec, "--"}, argv...)...)
	cmd.Env = []string{"PLANTED=planted-" + "value", "HOME=" + filepath.Dir(workspace) + "/home", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = credential(uid)
	leak, err := os.Open("/etc/hostname")
	if err == nil {
		defer leak.Close()
		cmd.ExtraFiles = []*os.File{leak}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// It refuses to attack a machine that nothing protects.
func TestAttackRunsInTheSandboxOnly(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "run", "./test/attack")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "CLAWSH_ATTACK=1")
	if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "possible") {
		t.Errorf("it ran: %s", out)
	}
}

// Memory that several processes could share counts like any other, and output without end is ended with the time.
func TestHogs(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t, os.Getuid())
	os.Mkdir(dir+"/w", 0o755)
	os.Mkdir(dir+"/bin", 0o755)
	build := exec.Command("go", "build", "-o", dir+"/bin/attack", "./test/attack")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	launcher := filepath.Join(bin, "claw-exec")
	out, code := confined(t, launcher, "auto", dir+"/w", []string{"CLAWSH_ATTACK=1"}, os.Getuid(), dir+"/bin/attack",
		"memory-shared")
	if code == 71 {
		need.Skip(t, need.Sandbox, "no sandbox can be set up here: %s", out)
	}
	if code == 0 || code == 3 || !strings.Contains(out, "memory") {
		t.Errorf("shared memory: exit code %d: %s", code, out)
	}
	cmd := exec.Command("sh", "-c", `"$0" confine "$1" -- "$2" output | head -c 300000000 | wc -c`, launcher,
		`{"engine":"auto","workspace":"`+dir+`/w","timeout_s":1,"read":["`+dir+
			`/bin"],"env":["CLAWSH_ATTACK=1"],"limits":{"memory_bytes":268435456,"processes":64,"open_files":256,"cpus":1,"cpu_s":20,"file_bytes":67108864,"tmp_bytes":16777216}}`, dir+"/bin/attack")
	cmd.Env = []string{"HOME=" + dir + "/home", "PATH=/usr/bin:/bin"}
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("output: %v: %s", err, b)
	}
}

// In a container whose /proc is masked no engine with a view of its own can be set up: it refuses, says so, and runs
// nothing.
func TestMaskedProcRefuses(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t, os.Getuid())
	os.Mkdir(dir+"/w", 0o755)
	script := `mount -t tmpfs none /proc/irq || exit 99; exec "$0" confine "$1" -- /bin/touch "$2"`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, filepath.Join(bin, "claw-exec"),
		`{"engine":"auto","workspace":"`+dir+
			`/w","timeout_s":10,"limits":{"memory_bytes":268435456,"processes":64,"open_files":256,"cpus":1,"cpu_s":20,"file_bytes":67108864,"tmp_bytes":16777216}}`, dir+"/w/canary")
	cmd.Env = []string{"HOME=" + dir + "/home", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 71 {
		if err != nil && exit != nil && exit.ExitCode() != 1 && exit.ExitCode() != 99 {
			t.Errorf("%v: %s", err, out)
		}
		need.Skip(t, need.Namespaces, "a masked /proc cannot be made here: %v: %s", err, out)
	}
	if !strings.Contains(string(out), "masked") || size(dir+"/w/canary") != 0 {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(dir + "/w/canary"); err == nil {
		t.Error("the program was run")
	}
}
