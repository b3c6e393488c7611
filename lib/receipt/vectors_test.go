package receipt

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// vectors is where the vectors are; docs/SCHEMAS.md says what they are.
const vectors = "../../testdata/receipts"

// verdict is what a vector is to be found. Of a log, Report says it.
type verdict struct {
	Name     string `json:"name"`
	What     string `json:"what"` // log, checkpoint, proof, consistency
	Good     bool   `json:"good"`
	Level    string `json:"level,omitempty"`
	Count    int    `json:"count,omitempty"`
	FirstBad int    `json:"first_bad,omitempty"`
	Torn     bool   `json:"torn_tail,omitempty"`
	Head     string `json:"head,omitempty"`
	Why      string `json:"why"`
}

// found is what our own code finds of a vector.
func found(t *testing.T, dir string, k *Keys, v verdict) verdict {
	t.Helper()
	path := filepath.Join(dir, v.What, v.Name)
	got := verdict{Name: v.Name, What: v.What, Why: v.Why}
	if v.What == "log" {
		src, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		rep, err := Verify(src, Trust{Keys: k})
		if err != nil {
			t.Fatal(v.Name, err)
		}
		got.Good, got.Level, got.Count, got.FirstBad, got.Torn, got.Head = rep.Valid, rep.Level, rep.Count,
			rep.FirstBad, rep.TornTail, rep.Head
		return got
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch v.What {
	case "checkpoint":
		src, openErr := Open(filepath.Join(dir, "log", "plain"))
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer src.Close()
		var rep Report
		rep, err = Verify(src, Trust{Keys: k, Against: raw})
		if got.Good = err == nil && rep.Valid; got.Good {
			got.Count = rep.Size
		}
	case "proof":
		var p *Proof
		if p, _, err = CheckProof(raw, k.Public); err == nil {
			got.Count = p.Number
		}
		got.Good = err == nil
	case "consistency":
		var c *Consistency
		if c, err = CheckConsistency(raw, k.Public); err == nil {
			got.Count = int(c.Old.N)
		}
		got.Good = err == nil
	}
	return got
}

// vectorKeys are the keys of the vectors, copied to where their modes are right.
func vectorKeys(t *testing.T, dir string) *Keys {
	t.Helper()
	to := t.TempDir()
	for name, mode := range map[string]os.FileMode{"receipt.key": 0o600, "receipt.pub": 0o644} {
		raw, err := os.ReadFile(filepath.Join(dir, "keys", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), raw, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k, err := LoadKeys(to)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestVectors: our own code finds what the vectors are to be found. With CLAWSH_VECTORS=new it makes them.
func TestVectors(t *testing.T) {
	if os.Getenv("CLAWSH_VECTORS") == "new" {
		newVectors(t)
	}
	k := vectorKeys(t, vectors)
	raw, err := os.ReadFile(filepath.Join(vectors, "verdicts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(raw) {
		var want verdict
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if got := found(t, vectors, k, want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: %+v, want %+v", want.What, want.Name, got, want)
		}
		n++
	}
	if n < 40 {
		t.Errorf("only %d vectors", n)
	}
}
