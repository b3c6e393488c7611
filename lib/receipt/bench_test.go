package receipt

import (
	"bytes"
	"testing"
)

func BenchmarkVerify(b *testing.B) {
	_, o, lines := chain(b, 2000)
	k := keysOf(b, o)
	log := bytes.Join(lines, nil)
	b.ReportAllocs()
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if rep, err := Verify(bytes.NewReader(log), Trust{Keys: k, Require: LevelMac}); err != nil || !rep.Valid {
			b.Fatal(rep, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	path, o := home(b)
	l := openLog(b, path, o)
	for b.Loop() {
		if _, err := l.Append(result(1)); err != nil {
			b.Fatal(err)
		}
	}
}
