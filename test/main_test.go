// Package test drives the real binaries: scripts in scripts/ over real pipes, files, sockets and terminals; the
// contract that every command keeps; and the rules of the house.
package test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"clawsh/lib/config"
	"clawsh/test/need"
)

// bin is the directory with the binaries under test.
var bin string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := need.Check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	syscall.Umask(0o022) // a home in a directory that others may write to is refused
	remove, err := programs()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	return m.Run()
}

// programs builds the programs under test, which remove takes away again, or takes those that CLAWSH_BIN says.
func programs() (remove func(), err error) {
	if bin = os.Getenv("CLAWSH_BIN"); bin != "" {
		return func() {}, nil
	}
	if bin, err = os.MkdirTemp("", "clawsh-bin-"); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-o", bin+"/", "clawsh/cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(bin)
		return nil, fmt.Errorf("build the binaries: %v\n%s", err, out)
	}
	return func() { os.RemoveAll(bin) }, nil
}

// TestScripts runs every file below scripts/, each as a test of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("scripts/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(dir + "/*.txtar")
		all, _ := os.ReadDir(dir)
		if err != nil || len(files) == 0 || len(files) != len(all) {
			t.Fatalf("%s: %d scripts among %d files: what no test runs proves nothing", dir, len(files), len(all))
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, testscript.Params{Dir: dir, Setup: setup, RequireExplicitExec: true,
				RequireUniqueNames: true,
				UpdateScripts:      os.Getenv("UPDATE_SCRIPTS") != "", Cmds: commands, Condition: required})
		})
	}
}

// setup gives each script a home of its own and a PATH that starts with the binaries under test.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	tmp := filepath.Join(e.WorkDir, "tmp")
	for _, d := range []string{home, tmp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	for _, kv := range [][2]string{{"HOME", home}, {"CLAWSH_HOME", filepath.Join(home, ".clawsh")}, {"TMPDIR", tmp},
		{"WS", filepath.Join(home, "clawsh-workspace")},
		{"PATH", bin + string(os.PathListSeparator) + os.Getenv("PATH")}, {"LANG", "C.UTF-8"}, {"TZ", "UTC"},
		{"BIN", bin}} {
		e.Setenv(kv[0], kv[1])
	}
	return nil
}

func condition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "sandbox":
		return sandboxWorks(), nil
	case "full":
		_, err := os.Stat("/dev/full")
		return err == nil, nil
	}
	_, err := exec.LookPath(cond)
	return err == nil, nil
}

// required is condition, but a lack of what CLAWSH_REQUIRE names is an error: a script must not be skipped for want of
// it.
func required(cond string) (bool, error) {
	ok, err := condition(cond)
	if err == nil && !ok && need.Required(cond) {
		return false, fmt.Errorf("%s requires %s, which is lacking here", need.Variable, cond)
	}
	return ok, err
}

func needSandbox(t testing.TB) {
	t.Helper()
	if !sandboxWorks() {
		need.Skip(t, need.Sandbox, "no sandbox can be set up on this host")
	}
}

// sandboxWorks tells whether programs can be confined here at all: scripts about what runs in the sandbox skip, and say
// so, where a host does not let us make one.
var sandboxWorks = sync.OnceValue(func() bool {
	home, err := os.MkdirTemp("", "clawsh-sandbox-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(home)
	os.Mkdir(filepath.Join(home, "clawsh-workspace"), 0o755)
	cmd := exec.Command(filepath.Join(bin, "claw-exec"), "sandbox", "--jq", ".data.usable")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, _ := cmd.Output()
	return string(out) == "true\n"
})

// commands are what scripts can do beyond the standard commands.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"init":    initHome,
	"mock":    mock,
	"set":     set,
	"jq":      jq,
	"serve":   serve,
	"waitfor": waitFor,
	"records": records,
	"schema":  schema,
	"fifo":    fifo,
	"kill9":   kill9,
	"pty":     pty,
	"absent":  absent,
	"fakes":   writeFakes,
	"nowhere": nowhere,
}

// initHome: init — makes a home with clawsh init.
func initHome(ts *testscript.TestScript, neg bool, _ []string) {
	ts.Check(ts.Exec("clawsh", "init"))
	if !sandboxWorks() {
		ts.Logf("no sandbox can be set up on this host: programs of this script run without one")
		edit(ts, config.Setting{Key: "security.sandbox", Value: "off"})
	}
}

// mock: mock FILE — makes the mock provider follow the fixture.
func mock(ts *testscript.TestScript, neg bool, args []string) {
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("CLAWSH_HOME"), "fixture.jsonl"), []byte(data), 0o600))
	edit(ts, config.Setting{Key: "providers.models.local.fixture", Value: "fixture.jsonl"})
}

// set: set KEY VALUE — changes a text in the configuration; set -raw KEY TOML any other value.
func set(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "-raw" {
		edit(ts, config.Setting{Key: args[1], Raw: args[2]})
		return
	}
	edit(ts, config.Setting{Key: args[0], Value: args[1]})
}

func edit(ts *testscript.TestScript, s config.Setting) {
	path := filepath.Join(ts.Getenv("CLAWSH_HOME"), "config.toml")
	old, err := os.ReadFile(path)
	ts.Check(err)
	out, err := config.Edit(old, []config.Setting{s})
	ts.Check(err)
	ts.Check(os.WriteFile(path, out, 0o600))
}

// waitFor: waitfor FILE [TEXT] — waits until the file is there, and holds the text; ! waitfor PATTERN until there is
// none.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if left, _ := filepath.Glob(ts.MkAbs(args[0])); neg && len(left) == 0 {
			return
		}
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		if !neg && err == nil && (len(args) < 2 || containsText(string(b), args[1])) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("waited in vain for %v", args)
		case <-tick.C:
		}
	}
}
