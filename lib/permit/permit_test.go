package permit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"clawsh/lib/record"
)

var now = time.Date(2026, 5, 12, 14, 0, 0, 0, time.UTC)

func claims() Claims {
	return Claims{CallID: "call-1", ConversationID: "conv-1", Tool: "file_read",
		ArgsSHA256: record.HashBytes([]byte(`{"path":"a"}`)),
		Risk:       "low", Decision: "allow", PolicyHash: "p", ExpiresAt: now.Add(Lifetime).Format(record.TimeFormat)}
}

func pair(t testing.TB) (*Signer, *Verifier) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "keys")
	if made, err := Create(dir); err != nil || !made {
		t.Fatal(made, err)
	}
	s, err := LoadSigner(dir)
	if err != nil {
		t.Fatal(err)
	}
	v, err := LoadVerifier(dir + "/permit.pub")
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

func TestVerify(t *testing.T) {
	s, v := pair(t)
	p, err := s.Sign(claims())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(p, claims(), now); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Claims){
		"call": func(c *Claims) { c.CallID = "call-2" }, "conversation": func(c *Claims) { c.ConversationID = "" },
		"tool": func(c *Claims) { c.Tool = "shell" },
		"args": func(c *Claims) { c.ArgsSHA256 = record.HashBytes([]byte(`{"path":"b"}`)) },
		"risk": func(c *Claims) { c.Risk = "high" }, "decision": func(c *Claims) { c.Decision = "deny" },
		"policy": func(c *Claims) { c.PolicyHash = "q" },
	} {
		c := claims()
		change(&c)
		if _, err := v.Verify(p, c, now); !errors.Is(err, ErrMismatch) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if _, err := v.Verify(p, claims(), now.Add(Lifetime)); !errors.Is(err, ErrExpired) {
		t.Errorf("expired: %v", err)
	}
	if _, err := v.Verify(p, claims(), now.Add(-time.Hour)); !errors.Is(err, ErrMalformed) {
		t.Errorf("good for too long: %v", err)
	}
	_, other := pair(t)
	if _, err := other.Verify(p, claims(), now); !errors.Is(err, ErrSignature) {
		t.Errorf("another home's: %v", err)
	}
	for _, bad := range []string{"", "v1", "v1..", "v2" + p[2:], p + "=", p + ".", strings.ToUpper(p), p[:len(p)-1],
		" " + p, p + "\n"} {
		if _, err := v.Verify(bad, claims(), now); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	if _, err := Create(dir); err != nil {
		t.Fatal(err)
	}
	key := dir + "/permit.key"
	before, _ := os.ReadFile(key)
	if made, err := Create(dir); made || err != nil {
		t.Errorf("made a second key: %v", err)
	}
	if after, _ := os.ReadFile(key); string(after) != string(before) {
		t.Error("the key changed")
	}
	os.Remove(dir + "/permit.pub")
	if _, err := Create(dir); err != nil {
		t.Errorf("the public key was not repaired: %v", err)
	}
	os.WriteFile(dir+"/permit.pub", []byte("damaged"), 0o644)
	if _, err := Create(dir); err != nil {
		t.Errorf("the damaged public key was not repaired: %v", err)
	}
	os.Chmod(key, 0o640)
	if _, err := LoadSigner(dir); err == nil {
		t.Error("a key that others can read")
	}
	os.Chmod(key, 0o600)
	os.WriteFile(key, []byte("clawsh-permit-key-v1 AAAA\n"), 0o600)
	if _, err := LoadSigner(dir); err == nil || strings.Contains(err.Error(), "AAAA") {
		t.Errorf("a damaged key: %v", err)
	}
	os.Rename(key, key+".moved")
	os.Symlink(key+".moved", key)
	if _, err := LoadSigner(dir); err == nil {
		t.Error("a key that is a link")
	}
}

func TestCreateAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 8 {
		wg.Go(func() {
			made, err := Create(dir)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if made {
				total++
			}
		})
	}
	wg.Wait()
	if total != 1 {
		t.Errorf("%d keys were made", total)
	}
}

func TestRegister(t *testing.T) {
	path := filepath.Join(t.TempDir(), "used")
	r, err := OpenRegister(path)
	if err != nil {
		t.Fatal(err)
	}
	n := NewNonce()
	if err := r.Use(n, now.Add(Lifetime), now); err != nil {
		t.Fatal(err)
	}
	again, err := OpenRegister(path) // as after a restart
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Use(n, now.Add(Lifetime), now); !errors.Is(err, ErrUsed) {
		t.Errorf("used twice: %v", err)
	}
	for i := range 3000 {
		if err := r.Use(NewNonce(), now.Add(Lifetime), now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if info, _ := os.Stat(path); info.Size() > 10_000 {
		t.Errorf("expired permits are kept: %d bytes", info.Size())
	}
	os.Remove(path)
	os.Symlink("/dev/null", path)
	if err := r.Use(NewNonce(), now.Add(Lifetime), now); err == nil {
		t.Error("a register that forgets")
	}
}

func TestRegisterThatIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "used")
	r, err := OpenRegister(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	line := a + " 2026-05-12T14:01:00.000Z\n"
	for _, c := range []struct {
		name, content string
		nonce         string
		want          string // of the error; empty: none
	}{
		{"torn behind the nonce", line + b + " 2026", strings.Repeat("c", 32), ""},
		{"torn, its own nonce", line + b + " 2026", b, ErrUsed.Error()},
		{"torn within the nonce", line + b[:10], b, ""},
		{"torn, then continued", b[:10] + "\n" + line, a, ErrUsed.Error()},
		{"empty line", "\n" + line, a, ErrUsed.Error()},
		{"without its newline", strings.TrimSpace(line), a, ErrUsed.Error()},
		{"another letter", strings.Replace(line, "a", "g", 1), b, "line 1 is damaged"},
		{"the pattern itself", strings.Replace(line, "a", "x", 1), b, "line 1 is damaged"},
		{"no time", line + b + " 2026-05-12T14:01:00,000Z\n", a[:31] + "b", "line 2 is damaged"},
		{"longer", line + line[:56] + "ZZ\n", b, "line 2 is damaged"},
		{"nul bytes", line + strings.Repeat("\x00", 58), b, "line 2 is damaged"},
		{"spaces", line + "   \n", b, "line 2 is damaged"},
		{"too big", strings.Repeat(line, maxRegisterBytes/len(line)+1), b, "too large"},
		{"bad nonce", "", "x", ErrMalformed.Error()},
		{"nonce with a newline", "", a[:30] + "\na", ErrMalformed.Error()},
	} {
		os.WriteFile(path, []byte(c.content), 0o600)
		err := r.Use(c.nonce, now.Add(Lifetime), now)
		if err == nil != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if err != nil {
			continue
		}
		if err := r.Use(c.nonce, now.Add(Lifetime), now); !errors.Is(err, ErrUsed) {
			t.Errorf("%s: used twice: %v", c.name, err)
		}
		if after, _ := os.ReadFile(path); !strings.HasPrefix(string(after), c.content) {
			t.Errorf("%s: what was there has changed: %q", c.name, after)
		}
	}
}

// A permit takes only the place of one that nobody can use any more, even if the clock steps back by a minute.
func TestRegisterForgetsNothingThatCounts(t *testing.T) {
	r, err := OpenRegister(filepath.Join(t.TempDir(), "used"))
	if err != nil {
		t.Fatal(err)
	}
	first := NewNonce()
	for i, nonce := range []string{first, NewNonce(), NewNonce()} {
		if err := r.Use(nonce, now.Add(Lifetime), now.Add(time.Duration(i)*Lifetime)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Use(first, now.Add(Lifetime), now.Add(Lifetime)); !errors.Is(err, ErrUsed) {
		t.Errorf("used again after the clock stepped back: %v", err)
	}
}

func TestRegisterAtOnce(t *testing.T) {
	r, err := OpenRegister(filepath.Join(t.TempDir(), "used"))
	if err != nil {
		t.Fatal(err)
	}
	n := NewNonce()
	var wg sync.WaitGroup
	results := make(chan error, 16)
	for range 16 {
		wg.Go(func() { results <- r.Use(n, now.Add(Lifetime), now) })
	}
	wg.Wait()
	close(results)
	won := 0
	for err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrUsed) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d used the same permit", won)
	}
}

// FuzzPermit changes one byte of a permit: it must be refused.
func FuzzPermit(f *testing.F) {
	s, v := pair(f)
	good, err := s.Sign(claims())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), byte('x'))
	f.Add(uint16(len(good)-1), byte('A'))
	f.Fuzz(func(t *testing.T, at uint16, c byte) {
		b := []byte(good)
		i := int(at) % len(b)
		if b[i] == c {
			return
		}
		b[i] = c
		if _, err := v.Verify(string(b), claims(), now); err == nil {
			t.Fatalf("accepted with byte %d changed to %q", i, c)
		}
	})
}

func BenchmarkUse(b *testing.B) {
	r, err := OpenRegister(filepath.Join(b.TempDir(), "used"))
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		at := now.Add(time.Duration(i) * time.Second) // a call each second
		if err := r.Use(fmt.Sprintf("%032x", i), at.Add(Lifetime), at); err != nil {
			b.Fatal(err)
		}
	}
}
