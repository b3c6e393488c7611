//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/test/need"
)

// BenchmarkInserts passes records through claw-mem, each acknowledged when it is durable, beside the sqlite3 command
// that commits the same texts into a plain table under the same pragmas, one a transaction.
func BenchmarkInserts(b *testing.B) {
	need.Program(b, "sqlite3")
	p := newPlace(b)
	const records = 500
	round := 0
	text := strings.Repeat("what was said ", 8)
	for b.Loop() {
		ours, bare := pair(5, func() {
			round++
			var in bytes.Buffer
			for i := range records {
				fmt.Fprintf(&in,
					`{"v":1,"kind":"user","id":"msg-%d-%d","conversation_id":"conv-%d","turn_id":"turn-%d","content":"%s%d"}`+"\n", round, i, round, i/4, text, i)
			}
			if out := p.run(b, in.Bytes(), "claw-mem"); bytes.Count(out, []byte("\n")) != records {
				b.Fatalf("%d records came out", bytes.Count(out, []byte("\n")))
			}
		}, func() {
			var in bytes.Buffer
			in.WriteString("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; CREATE TABLE IF NOT EXISTS e(id INTEGER PRIMARY KEY, content TEXT);\n")
			for i := range records {
				fmt.Fprintf(&in, "INSERT INTO e(content) VALUES ('%s%d');\n", text, i)
			}
			cmd := exec.Command("sqlite3", filepath.Join(p.home, "bare.sqlite"))
			cmd.Stdin = &in
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		})
		fmt.Printf("acknowledged inserts: claw-mem %.0f/s, sqlite3 commits %.0f/s, %.2f times as long\n",
			records/ours.Seconds(), records/bare.Seconds(), ours.Seconds()/bare.Seconds())
	}
}
