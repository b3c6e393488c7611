package memory

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// benchTurns is the size of the store that searches are measured in: CLAWSH_BENCH_TURNS turns of one entry.
func benchTurns(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("CLAWSH_BENCH_TURNS"))
	if err != nil || n < 1000 {
		return 100_000
	}
	return n
}

// fillBench makes a store of n entries of natural word frequencies, over two years, in its middle one with the rare
// words. With CLAWSH_BENCH_KEEP the file stays there, and is used again if it has been made.
func fillBench(b *testing.B, n int) (*Store, *vocabulary) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "memory.sqlite")
	if kept := os.Getenv("CLAWSH_BENCH_KEEP"); kept != "" {
		path = filepath.Join(kept, fmt.Sprintf("memory-%d.sqlite", n))
	}
	s, v := openAtPath(b, path), newVocabulary()
	if err := s.registerFTS(); err != nil {
		b.Fatal(err)
	}
	if have, _ := number(s.conn, "SELECT count(*) FROM entries"); have == int64(n) {
		return s, v
	}
	now := time.Now()
	kinds := []record.Kind{record.KindUser, record.KindResponse, record.KindToolResult, record.KindResponse}
	roles := []string{"user", "assistant", "tool", "assistant"}
	for from := 0; from < n; from += 50_000 {
		err := transaction(s.conn, func() error {
			for i := from; i < min(from+50_000, n); i++ {
				at := now.Add(-time.Duration(n-i) * (2 * 365 * 24 * time.Hour / time.Duration(n)))
				e := Entry{ID: fmt.Sprint(i), ConversationID: fmt.Sprint("conv-", i/20),
					TurnID: fmt.Sprint("turn-", i/4),
					TS:     at.UTC().Format(record.TimeFormat), Kind: kinds[i%4], Role: roles[i%4], Content: v.text()}
				if i == n/2 {
					e.Content += " aardvark quuxfizzbar"
				}
				if _, err := s.insert(&e, DefaultAgent, nil, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := number(s.conn, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	return s, v
}

// inside returns three letters that are common in words and are no word.
func (v *vocabulary) inside() string {
	for _, w := range v.words {
		if len(w) >= 5 && !slices.Contains(v.words, w[1:4]) {
			return w[1:4]
		}
	}
	return "aaa"
}

// searchCase is a search with the condition that asks sqlite3 for the same; it is "" where SQL has no index to ask.
type searchCase struct {
	name, query, table, where string
	o                         SearchOptions
}

func searchCases(v *vocabulary) []searchCase {
	a, c := v.words[0], v.words[1]
	word := func(name, query, match string) searchCase {
		return searchCase{name, query, "entry_words", "entry_words MATCH '" + match + "'", SearchOptions{}}
	}
	part := func(name, query string) searchCase {
		table, where := partsOf(query)
		return searchCase{name, query, table, where, SearchOptions{}}
	}
	return []searchCase{
		word("rare word", "aardvark", "aardvark"), word("absent word", "wxyzwxyz", "wxyzwxyz"),
		word("common word", a, a),
		word("two common words", a+" "+c, a+" AND "+c), word("common and rare word", a+" aardvark", a+" AND aardvark"),
		word("phrase of common words", `"`+a+" "+c+`"`, `"`+a+" "+c+`"`),
		word("common word without a common one", a+" -"+c, a+" NOT "+c),
		word("prefix", "aar*", "aar*"), part("rare substring", "uuxfizz"), part("common substring", v.inside()),
		part("absent substring", "xwyxwyxwy"),
		{"short and rare substring", "zq", "", "", SearchOptions{}},
		{"short prefix", a[:1] + "*", "", "", SearchOptions{}},
		{"common word, of a provider that is absent", a, "", "", SearchOptions{Provider: "nobody"}},
		{"common word, of a role and kind that exclude", a, "", "", SearchOptions{Role: "tool", Kind: record.KindUser}},
		{"common word, up to a year ago", a, "", "", SearchOptions{Until: "365d"}},
		{"common word, in one old conversation", a, "", "", SearchOptions{ConversationID: "conv-7"}},
	}
}

// BenchmarkSearch prints what a first page takes beside the reference: the sqlite3 command on the same file, asked for
// the first 20 by bm25; of parts of words too, where whole ones do not make 20. Both are open already and have answered
// once. With the binaries in CLAWSH_BIN it does the same for new processes.
func BenchmarkSearch(b *testing.B) {
	if testing.Short() {
		need.Asked(b, "builds a store of 100,000 entries")
	}
	n := benchTurns(b)
	s, v := fillBench(b, n)
	for _, c := range searchCases(v) {
		b.Run(c.name, func(b *testing.B) {
			hits := 0
			find := func() {
				found, err := s.Find(c.query, c.o)
				if err != nil {
					b.Fatal(err)
				}
				hits = len(found.Hits)
			}
			for b.Loop() {
				find()
			}
			b.ReportMetric(float64(hits), "hits")
			reportSearch(n, c.name, median(find), sqliteSearch(b, s.path, c, hits))
			if bin := os.Getenv("CLAWSH_BIN"); bin != "" && c.table != "" {
				ours, theirs := wholeSearch(b, bin, s.path, c, hits)
				reportSearch(n, c.name+", as a process", ours, theirs)
			}
		})
	}
}

func reportSearch(n int, name string, got, reference time.Duration) {
	fmt.Printf("search in %d: %-50s %9.2f ms", n, name, float64(got)/1e6)
	if reference > 0 {
		fmt.Printf("   sqlite3 %9.2f ms   %6.2f times   aim: at most 2", float64(reference)/1e6,
			float64(got)/float64(reference))
	}
	fmt.Println()
}

// sql asks sqlite3 for the same. A search that whole words do not fill goes on with parts of words, and so does this.
func (c searchCase) sql(hits int) string {
	ask := sqlOf(c.table, c.where)
	if c.table == "entry_words" && hits < DefaultHits {
		ask += sqlOf(partsOf(c.query))
	}
	return ask
}

func partsOf(query string) (table, where string) {
	where = "entry_trigrams MATCH '" + plain(query).trigramQuery() + "'"
	for _, w := range strings.Fields(query) {
		where += " AND e.content LIKE '%" + w + "%'"
	}
	return "entry_trigrams", where
}

func sqlOf(table, where string) string {
	return fmt.Sprintf("SELECT e.record_id, e.conversation_id, e.ts, e.role, snippet(%[1]s, 0, '«', '»', '…', 24), rank FROM %[1]s "+
		"JOIN entries e ON e.id = %[1]s.rowid WHERE %[2]s ORDER BY rank LIMIT 20;\n", table, where)
}

// sqliteSearch is the median of what the sqlite3 command takes to answer; 0 if there is none, or nothing to ask it.
func sqliteSearch(b *testing.B, path string, c searchCase, hits int) time.Duration {
	b.Helper()
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil || c.table == "" {
		return 0
	}
	cmd := exec.Command(sqlite, "-readonly", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	took := median(func() {
		io.WriteString(in, c.sql(hits)+"SELECT 'that is all';\n")
		for lines.Scan() && lines.Text() != "that is all" {
		}
	})
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatalf("sqlite3: %v", err)
	}
	return took
}

// wholeSearch is claw-mem beside sqlite3, from start to end.
func wholeSearch(b *testing.B, bin, path string, c searchCase, hits int) (ours, theirs time.Duration) {
	home := b.TempDir()
	config := filepath.Join(home, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "workspace_dir = %q\n[memory]\npath = %q\n", b.TempDir(), path),
		0o600); err != nil {
		b.Fatal(err)
	}
	run := func(name string, args ...string) func() {
		return func() {
			cmd := exec.Command(name, args...)
			cmd.Env = []string{"HOME=" + home, "CLAWSH_HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"}
			if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "nothing found") {
				b.Fatalf("%s: %v: %s", name, err, out)
			}
		}
	}
	ours = median(run(filepath.Join(bin, "claw-mem"), "search", "--config", config, "--", c.query))
	if sqlite, err := exec.LookPath("sqlite3"); err == nil {
		theirs = median(run(sqlite, "-readonly", path, c.sql(hits)))
	}
	return ours, theirs
}

// median times f, warm, up to 21 times and for no more than about 20 seconds.
func median(f func()) time.Duration {
	f()
	var took []time.Duration
	for begin := time.Now(); len(took) < 21 && (len(took) == 0 || time.Since(begin) < 20*time.Second); {
		t := time.Now()
		f()
		took = append(took, time.Since(t))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
