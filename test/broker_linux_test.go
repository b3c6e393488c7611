package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBrokerAfterItsFilter: after a short call the filter has ended, and removed the directory for homes, before the
// broker looks for it. That is its end, and nothing to tell of; a filter that is there and has no directory is.
func TestBrokerAfterItsFilter(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	setUp := exec.Command(filepath.Join(bin, "clawsh"), "init")
	setUp.Env = env
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for said, want := range map[string]bool{"": true, "\x00\x00\x00\x08{\"id\":1}": false} {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Write(ends[0], []byte(said)); err != nil {
			t.Fatal(err)
		}
		syscall.Close(ends[0])
		broker := os.NewFile(uintptr(ends[1]), "broker")
		cmd := exec.Command(filepath.Join(bin, "claw-exec"), "broker",
			filepath.Join(home, "clawsh-home-AAAAAAAAAAAAAAAAAAAAAAAAAA"))
		cmd.Dir, cmd.Env, cmd.ExtraFiles = home, env, []*os.File{broker}
		out, err := cmd.CombinedOutput()
		broker.Close()
		if (err == nil) != want || want && len(out) > 0 || !want && !bytes.Contains(out, []byte("private homes")) {
			t.Errorf("after %q: %v: %s", said, err, out)
		}
	}
}
