package receipt

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// FuzzTamper changes one byte of a log: Verify must find it, in the right receipt.
func FuzzTamper(f *testing.F) {
	_, o, lines := chain(f, 4)
	k := keysOf(f, o)
	log := append(bytes.Join(lines, nil), '\n')
	for _, at := range []int{0, 10, len(lines[0]) - 1, len(lines[0]) - 5, len(lines[0]), len(log) - 2, len(log) - 1} {
		for _, c := range []byte("x}\n\x00\" ") {
			f.Add(uint16(at), c)
		}
	}
	f.Fuzz(func(t *testing.T, at uint16, c byte) {
		b := bytes.Clone(log)
		i := int(at) % len(b)
		if b[i] == c {
			return
		}
		want := 1 + bytes.Count(b[:i], []byte("\n"))
		b[i] = c
		if rep := verify(t, b, k); rep.Valid || rep.FirstBad != want {
			t.Fatalf("byte %d to %q in receipt %d: %+v", i, c, want, rep)
		}
	})
}

// FuzzLength cuts bytes out of a log, or puts some in: Verify must find it. A log that ends in the middle of its last
// line is told from one that is whole by torn_tail, and is not what its head says.
func FuzzLength(f *testing.F) {
	path, o, _ := chain(f, 4)
	k := keysOf(f, o)
	log := read(f, path)
	f.Add(uint16(0), uint16(1), "")
	f.Add(uint16(len(log)-1), uint16(1), "")
	f.Add(uint16(len(log)), uint16(0), "{\"id")
	f.Add(uint16(0), uint16(len(log)), "")
	f.Add(uint16(40), uint16(0), " ")
	f.Fuzz(func(t *testing.T, at, cut uint16, in string) {
		i := int(at) % (len(log) + 1)
		j := min(len(log), i+int(cut))
		b := slices.Concat(log[:i], []byte(in), log[j:])
		if bytes.Equal(b, log) {
			return
		}
		os.WriteFile(path, b, 0o600)
		if rep := verifyFile(t, path, Trust{Keys: k}); rep.Valid && !rep.TornTail {
			t.Fatalf("%d bytes at %d replaced by %q: %+v", j-i, i, in, rep)
		}
	})
}

// FuzzOrder removes, moves and doubles lines: Verify must find the first that is not where it was, and a cut tail by
// the head.
func FuzzOrder(f *testing.F) {
	path, o, lines := chain(f, 6)
	k := keysOf(f, o)
	lines[5] = append(lines[5], '\n')
	for _, order := range []string{"", "\x00", "\x01", "\x00\x01\x01\x02", "\x00\x02\x01\x03\x04\x05",
		"\x00\x01\x02\x03\x04\x05\x00"} {
		f.Add([]byte(order))
	}
	f.Fuzz(func(t *testing.T, order []byte) {
		var log []byte
		want := 0
		for k, o := range order {
			i := int(o) % len(lines)
			log = append(log, lines[i]...)
			if i != k && want == 0 {
				want = k + 1
			}
		}
		if rep := verify(t, log, k); rep.FirstBad != want || rep.Valid != (want == 0) {
			t.Fatalf("order %v: %+v, want %d", order, rep, want)
		}
		os.WriteFile(path, log, 0o600)
		if want == 0 && len(order) < len(lines) {
			want = len(order) + 1
		}
		if rep := verifyFile(t, path, Trust{Keys: k}); rep.FirstBad != want || rep.Valid != (want == 0) {
			t.Fatalf("order %v, with the head: %+v, want %d", order, rep, want)
		}
	})
}

// FuzzVerify: any bytes at all end in a report.
func FuzzVerify(f *testing.F) {
	_, o, lines := chain(f, 2)
	k := keysOf(f, o)
	f.Add(bytes.Join(lines, nil))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		rep := verify(t, log, k)
		if rep.Valid == (rep.Reason != "") || rep.Evidence == "" {
			t.Fatalf("%+v", rep)
		}
		if n := bytes.Count(log, []byte("\n")) + 1; rep.Count > n {
			t.Fatalf("%+v of %d lines", rep, n)
		}
	})
}

// FuzzCheckProof changes a proof: it must not be believed, unless it says the same.
func FuzzCheckProof(f *testing.F) {
	path, o, _ := chain(f, 7)
	k := keysOf(f, o)
	sealed := func() *Source {
		src, err := Open(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { src.Close() })
		return src
	}
	checkpoint, _, err := Checkpoint(sealed(), k)
	if err != nil {
		f.Fatal(err)
	}
	p, err := Prove(sealed(), Trust{Keys: k, Public: k.Public, Against: checkpoint}, 5)
	if err != nil {
		f.Fatal(err)
	}
	good := p.Encode()
	if got, n, err := CheckProof(good, k.Public); err != nil || n != 7 || got.Receipt != p.Receipt {
		f.Fatal(got, n, err)
	}
	f.Add(uint16(0), uint16(1), []byte("x"))
	f.Add(uint16(bytes.Index(good, []byte("index 4"))+6), uint16(1), []byte("5"))
	f.Add(uint16(len(good)), uint16(0), checkpoint)
	f.Add(uint16(0), uint16(len(good)), []byte(proofLabel+"\n\n"))
	f.Fuzz(func(t *testing.T, at, cut uint16, in []byte) {
		i := int(at) % (len(good) + 1)
		b := slices.Concat(good[:i], in, good[min(len(good), i+int(cut)):])
		got, n, err := CheckProof(b, k.Public)
		if err == nil && (got.Receipt != p.Receipt || got.Number != p.Number || n != 7 || got.Origin != k.Origin) {
			t.Fatalf("believed %+v of %d: %q", got, n, b)
		}
	})
}

// FuzzKept: of any bytes, only checkpoints that the key has signed count.
func FuzzKept(f *testing.F) {
	path, o, _ := chain(f, 3)
	k := keysOf(f, o)
	src, err := Open(path)
	if err != nil {
		f.Fatal(err)
	}
	defer src.Close()
	good, _, err := Checkpoint(src, k)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, []byte{})
	f.Add(good, good)
	f.Add([]byte("\n\n— x\n"), []byte("a\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		list, err := openKept(slices.Concat(before, good, after), k.Public)
		if err != nil {
			return
		}
		for _, c := range list {
			if c.N != 3 {
				t.Fatalf("a checkpoint of %d that nobody signed", c.N)
			}
		}
	})
}
