package test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// withHelper builds a program for what a shell cannot do by itself, and returns a function that runs commands in a
// workspace which has it.
func withHelper(t *testing.T, engine, source string) (workspace string, run func(command string) (string, error)) {
	t.Helper()
	needSandbox(t)
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	cmd := exec.Command("sh", "-ec",
		`clawsh init; sed -i -e 's/^autonomy = .*/autonomy = "full"/' -e 's/^sandbox = .*/sandbox = "'$1'"/' .clawsh/config.toml`, "sh", engine)
	cmd.Dir, cmd.Env = home, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	workspace = home + "/clawsh-workspace"
	src := t.TempDir() + "/helper.go"
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", workspace+"/helper", src).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return workspace, func(command string) (string, error) {
		cmd := exec.Command(bin+"/clawsh", "tool", "run", "shell", "--json",
			fmt.Sprintf(`{"command":%q,"timeout_s":120}`, command))
		cmd.Dir, cmd.Env = home, env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

const signaller = `package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// It signals the process that started it.
func main() {
	n, _ := strconv.Atoi(os.Args[1])
	parent := syscall.Getppid()
	reached := 0
	if syscall.Kill(parent, syscall.Signal(n)) == nil {
		reached++
		fmt.Println("reached the process")
	}
	if reached == 0 {
		fmt.Println("held")
	}
}
`

// No program of a call signals its interpreter: not the first one either.
func TestNoProgramSignalsItsInterpreter(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"native", "landlock"} {
		t.Run(engine, func(t *testing.T) {
			_, run := withHelper(t, engine, signaller)
			for i := range 20 {
				signal := []string{"0", "19", "9"}[i%3]
				out, err := run(strings.Repeat("./helper "+signal+"; ", 3) + "echo alive")
				if err != nil || strings.Contains(out, "reached") || strings.Count(out, "held\n") != 3 ||
					!strings.Contains(out, "alive") {
					t.Fatalf("call %d, signal %s: %v: %s", i, signal, err, out)
				}
			}
		})
	}
}

const nonblocking = `package main

import (
	"os"
	"syscall"
)

// It takes the blocking from its descriptors, or reads its own output, as it is told.
func main() {
	if len(os.Args) > 1 {
		fd, err := syscall.Open("/proc/self/fd/1", syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			syscall.Read(fd, make([]byte, 1<<20))
		}
		return
	}
	for fd := range 3 {
		syscall.SetNonblock(fd, true)
	}
}
`

// What a program does to its descriptors, the interpreter's own output and that of later programs does not feel.
func TestNoProgramTakesLaterOutput(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"native", "landlock", "off"} {
		t.Run(engine, func(t *testing.T) {
			workspace, run := withHelper(t, engine, nonblocking)
			if err := os.WriteFile(workspace+"/A", []byte(strings.Repeat("0123456789abcde\n", 100_000)),
				0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range []string{
				`./helper; x=$(cat A); echo "$x"; echo "END-MARK rc=$?"`,
				`x=$(cat A); ./helper; cat A; echo "END-MARK rc=$?"`,
				`./helper >/dev/stderr; x=$(cat A); echo "$x" >&2; echo "END-MARK rc=$?"`,
				`x=$(cat A); { ./helper; echo "$x"; echo "END-MARK rc=$?"; } | cat`,
				`x=$(cat A); { ./helper; ./helper; echo "$x"; } | { ./helper; read -r l; echo "END-MARK rc=$?"; }`,
				`x=$(cat A); ./helper read >/dev/stderr | { echo "$x"; echo "END-MARK rc=$?"; }`,
			} {
				out, err := run(command)
				if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "END-MARK rc=0") {
					t.Errorf("%s: %v: %d bytes, %q", command, err, len(out), out[max(0, len(out)-200):])
				}
			}
		})
	}
}
