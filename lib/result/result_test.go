package result

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func read(s *Store, conversation, call string) string {
	f, err := s.Open(conversation, ID(call))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(f)
	return string(b)
}

func TestKeepOpenRemove(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "results")}
	long := strings.Repeat("a line\n", 1000)
	for _, c := range []string{"conv-1", "conv-2", "../../x"} {
		if err := s.Keep(c, "call-1", c+long); err != nil {
			t.Fatal(err)
		}
		if got := read(s, c, "call-1"); got != c+long {
			t.Errorf("%s: %d bytes", c, len(got))
		}
	}
	if read(s, "conv-3", "call-1") != "" || read(s, "", "call-1") != "" || read(s, "conv-1", "call-2") != "" {
		t.Error("a result of another conversation, or of another call")
	}
	for _, id := range []string{"", "../conv", "0123456789/", "0123456789abc", "ABCDEF0123", ".........."} {
		if f, err := s.Open("conv-1", id); err == nil {
			f.Close()
			t.Errorf("%q was opened", id)
		}
	}
	if err := s.Keep("conv-1", "call-9", "short"); err != nil || read(s, "conv-1", "call-9") != "" {
		t.Error("a short one is kept")
	}
	if err := s.Keep("", "call-9", long); err != nil || read(s, "", "call-9") != "" {
		t.Error("one that nobody could delete is kept")
	}
	files, _ := filepath.Glob(s.Dir + "/*/*")
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
	if err := s.Remove("conv-1", "conv-none"); err != nil || read(s, "conv-1", "call-1") != "" ||
		read(s, "conv-2", "call-1") == "" {
		t.Errorf("remove: %v", err)
	}
	if err := s.Clear(); err != nil || read(s, "conv-2", "call-1") != "" {
		t.Errorf("clear: %v", err)
	}
	if left, _ := filepath.Glob(s.Dir + "/*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestKeepIsBounded(t *testing.T) {
	s := &Store{Dir: filepath.Join(t.TempDir(), "results")}
	big := strings.Repeat("x", MaxBytes+1)
	for i := range 20 {
		if err := s.Keep("conv", fmt.Sprint(i), big); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(read(s, "conv", "19")); n != MaxBytes {
		t.Errorf("%d bytes of one", n)
	}
	files, _ := filepath.Glob(s.Dir + "/*/*")
	if n := len(files) * MaxBytes; n > maxTotal || n < maxTotal/2 {
		t.Errorf("%d bytes in all", n)
	}
	old := time.Now().Add(-2 * maxAge)
	for _, f := range files {
		os.Chtimes(f, old, old)
	}
	other := &Store{Dir: s.Dir}
	if err := other.Keep("conv-2", "1", big); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(s.Dir + "/*/*"); len(left) != 1 {
		t.Errorf("old ones are left: %v", left)
	}
}

// TestLinksAreNotFollowed: what somebody has put in the place of a result is not read, nor written to.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	s := &Store{Dir: filepath.Join(dir, "results")}
	secret := filepath.Join(dir, "secret")
	os.WriteFile(secret, []byte("secret"), 0o600)
	os.MkdirAll(filepath.Join(s.Dir, place("conv")), 0o700)
	os.Symlink(secret, filepath.Join(s.Dir, place("conv"), ID("1")))
	if got := read(s, "conv", "1"); got != "" {
		t.Errorf("%q", got)
	}
	if err := s.Keep("conv", "1", strings.Repeat("x", LeastBytes)); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(secret); string(b) != "secret" {
		t.Errorf("%q", b)
	}
}
