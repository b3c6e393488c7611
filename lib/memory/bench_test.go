package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// vocabulary makes texts of 6 to 23 words with the frequencies of a natural language.
type vocabulary struct {
	words []string
	zipf  *rand.Zipf
	rnd   *rand.Rand
}

func newVocabulary() *vocabulary {
	v := &vocabulary{rnd: rand.New(rand.NewPCG(1, 2))}
	v.zipf = rand.NewZipf(v.rnd, 1.1, 2, 19999)
	for range 20000 {
		b := make([]byte, 2+v.rnd.IntN(8))
		for i := range b {
			b[i] = "etaoinshrdlucmfwypvbgkqjxz"[int(26*v.rnd.Float64()*v.rnd.Float64())]
		}
		v.words = append(v.words, string(b))
	}
	return v
}

func (v *vocabulary) text() string {
	var out []string
	for range 6 + v.rnd.IntN(18) {
		out = append(out, v.words[v.zipf.Uint64()])
	}
	return strings.Join(out, " ")
}

// BenchmarkPut is one durable record beside its floor, in turn: a synchronous=FULL commit of the same text into a plain
// table. It prints both a second, and how many times as long a record takes.
func BenchmarkPut(b *testing.B) {
	s, v := openTemp(b), newVocabulary()
	conn, err := sqlite3.Open(filepath.Join(b.TempDir(), "bare.sqlite"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Exec(`PRAGMA journal_mode=WAL; ` + perConnection +
		`CREATE TABLE e(id INTEGER PRIMARY KEY, content TEXT)`); err != nil {
		b.Fatal(err)
	}
	st, _, err := conn.Prepare(`INSERT INTO e(content) VALUES (?)`)
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	var kept, bare time.Duration
	n := 0
	for ; b.Loop(); n++ {
		text := v.text()
		begin := time.Now()
		say(b, s, record.NewID("user-"), fmt.Sprint("conv-", n/20), text)
		middle := time.Now()
		if err := errors.Join(st.BindText(1, text), st.Exec()); err != nil {
			b.Fatal(err)
		}
		kept, bare = kept+middle.Sub(begin), bare+time.Since(middle)
	}
	b.ReportMetric(float64(n)/kept.Seconds(), "records/s")
	b.ReportMetric(float64(n)/bare.Seconds(), "bare-commits/s")
	b.ReportMetric(kept.Seconds()/bare.Seconds(), "times")
}

// BenchmarkOpen is what a start of claw-mem pays: open, list, close.
func BenchmarkOpen(b *testing.B) {
	s := openTemp(b)
	say(b, s, "1", "c", "hello")
	for _, readOnly := range []bool{false, true} {
		b.Run(fmt.Sprintf("readonly=%v", readOnly), func(b *testing.B) {
			for b.Loop() {
				o, err := Open(s.path, Options{ReadOnly: readOnly})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := o.Conversations(20); err != nil {
					b.Fatal(err)
				}
				o.Close()
			}
		})
	}
}
