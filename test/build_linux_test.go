package test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryBuildIsTheRightBuild: a build either gives static programs, those that all other tests run, or fails and
// says how to build.
func TestEveryBuildIsTheRightBuild(t *testing.T) {
	t.Parallel()
	for _, name := range binaries(t) {
		f, err := elf.Open(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := f.ImportedLibraries()
		if len(libraries) > 0 || err != nil {
			t.Errorf("%s is not static: it needs %v (%v)", name, libraries, err)
		}
		f.Close()
	}
	for _, verb := range []string{"build", "install", "vet"} {
		cmd := exec.Command("go", verb, "clawsh/lib/command")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOBIN="+t.TempDir())
		out, err := cmd.CombinedOutput()
		said := strings.Contains(string(out), "CGO_ENABLED=0 go install ./cmd/...") ||
			strings.Contains(string(out), "C compiler")
		if err == nil || !said {
			t.Errorf("go %s with cgo: %v\n%s", verb, err, out)
		}
	}
}
