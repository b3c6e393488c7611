// Package need skips tests for want of something that this machine lacks. The environment variable CLAWSH_REQUIRE
// names, separated by commas, what must not be lacking: a test that would be skipped for want of it fails.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Variable names what must not be lacking.
const Variable = "CLAWSH_REQUIRE"

// What a machine can lack beside programs.
const (
	Sandbox    = "sandbox"    // an engine with all guarantees
	Native     = "native"     // the engine of that name
	Landlock   = "landlock"   // the engine of that name
	Bubblewrap = "bubblewrap" // the engine of that name, and its program
	RootTasks  = "root-tasks" // an engine that bounds the processes of root
	Namespaces = "namespaces" // user and mount namespaces that tests make themselves
	Confined   = "confined"   // a kernel that enforces all of a program's row
	Seccomp    = "seccomp"    // filters for this processor
	Listener   = "listener"   // no filter above us that has the kernel's only listener
	Terminal   = "terminal"   // pseudo-terminals
	Full       = "full"       // /dev/full
	AMD64      = "amd64"      // a processor of that kind
	// BashCompletion is bash's package of completions, which loads ours.
	BashCompletion = "bash-completion"
)

// programs are what tests look for on PATH.
var programs = []string{"bash", "bwrap", "cargo", "direnv", "fish", "gawk", "gcc", "git", "go", "jq", "make", "mandoc",
	"node", "npm", "openssl",
	"python3", "sed", "setsid", "sha256sum", "sqlite3", "ssh", "sshd", "strace", "tmux", "vim", "zsh"}

// Known tells whether tests can be skipped for want of the thing: a name that nobody knows would demand nothing.
func Known(thing string) bool {
	things := []string{Sandbox, Native, Landlock, Bubblewrap, RootTasks, Namespaces, Confined, Seccomp, Listener,
		Terminal, Full, AMD64, BashCompletion}
	return slices.Contains(things, thing) || slices.Contains(programs, thing)
}

// Required tells whether the thing must not be lacking.
func Required(thing string) bool {
	return slices.Contains(required(), thing)
}

func required() []string {
	return strings.FieldsFunc(os.Getenv(Variable), func(r rune) bool { return r == ',' || r == ' ' })
}

// Check says what is wrong with the variable.
func Check() error {
	for _, thing := range required() {
		if !Known(thing) {
			return fmt.Errorf("%s names %q, for want of which no test is skipped", Variable, thing)
		}
	}
	return nil
}

// Skip skips a test for want of the thing, or fails it if the thing is required, or is lacking because the test is
// built with cgo.
func Skip(t testing.TB, thing, why string, args ...any) {
	t.Helper()
	why = fmt.Sprintf(why, args...)
	switch {
	case !Known(thing):
		t.Fatalf("package need does not know %q", thing)
	case cgo && slices.Contains([]string{Sandbox, Native, Landlock, Bubblewrap, Confined}, thing):
		t.Fatalf("built with cgo, this test cannot confine itself: run CGO_ENABLED=0 go test ./..., or make test\n%s",
			why)
	case Required(thing):
		t.Fatalf("%s requires %s, but %s", Variable, thing, why)
	}
	t.Skipf("for want of %s: %s", thing, why)
}

// Program skips a test where a program is not installed.
func Program(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Skip(t, name, "%s is not installed", name)
		}
	}
}

// Asked skips what somebody chose not to run, by a flag or by a variable that is not set.
func Asked(t testing.TB, why string) {
	t.Helper()
	t.Skip(why)
}
