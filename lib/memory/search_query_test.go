package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/lib/record"
)

// found searches and returns the sorted ids.
func found(t *testing.T, s *Store, query string, o SearchOptions) string {
	t.Helper()
	hits, err := s.Search(query, o)
	if err != nil {
		t.Errorf("Search(%q, %+v): %v", query, o, err)
	}
	got := strings.Fields(ids(hits))
	slices.Sort(got)
	return strings.Join(got, " ")
}

func TestQueryLanguage(t *testing.T) {
	s := openTemp(t)
	for i, content := range []string{
		"the quick brown fox",                       // 0
		"the brown quick fox, category dog",         // 1
		"quick\n\tBrown dogs, not a cat",            // 2
		"rm -rf /tmp/x and mail to a.b@example.com", // 3
		"say \"hello world\" OR else",               // 4
		"hello, world: helping hands",               // 5
		"日本語の文章です 東京",                               // 6
		"undo the redo; foo*bar and c++ AND go",     // 7
	} {
		say(t, s, fmt.Sprint(i), "c", content)
	}
	for _, c := range []struct{ query, want string }{
		{"quick brown", "0 1 2"}, {`"quick brown"`, "0 2"}, {`"QUICK   brown" fox`, "0"}, {`"brown fox"`, "0"},
		{`"uick bro"`, "0 2"},
		{`"hello world"`, "4"}, {`"hello, world"`, "5"}, {`hello world`, "4 5"},
		{"cat*", "1 2"}, {"cat", "1 2"}, {"ategory", "1"}, {"ategor*", ""}, {"hel*", "4 5"}, {"he* wor*", "4 5"},
		{"q*", "0 1 2"}, {"日本*", "6"}, {"日*", "6"}, {"本*", ""},
		{"quick -cat", "0 1"}, {"quick -cat*", "0"}, {"quick NOT fox", "2"}, {`quick -"brown quick"`, "0 2"},
		{`fox -brown -quick`, ""}, {"-cat quick", "0 1"},
		{"fox OR world", "0 1 4 5"}, {"fox OR world -hello", "0 1"}, {"the fox OR redo", "0 1 7"},
		{`dog OR "hello world" OR 東京`, "1 2 4 6"}, {"quick AND fox", "0 1"},
		{"quick AND NOT fox", "2"}, {"東 OR redo", "6 7"}, {"zzz OR fox", "0 1"}, {"zzz OR q", "0 1 2"},
		// plain text, for it is nothing else
		{`"hello`, "4"}, {`world"`, "4"}, {"OR", "1 4 5"}, {"world OR", "4 5"}, {"OR else", "4"}, {"-rf", "3"},
		{"-cat", ""}, {"--", ""}, {"NOT", "2"}, {"AND", "3 5 7"},
		{"quick OR -fox", ""}, {`"a"b`, ""}, {`""`, ""}, {`"rm -rf"`, "3"}, {"/tmp/x", "3"}, {"/tmp/*", ""},
		{"foo*bar", "7"}, {"*bar", "7"}, {"c++", "7"},
		{"a.b@example.com", "3"}, {"b@exam", "3"}, {"example", "3"}, {"(fox)", ""}, {"NEAR(quick fox)", ""},
		{"content:fox", ""}, {"^the", ""}, {"fox'", ""},
	} {
		if got := found(t, s, c.query, SearchOptions{}); got != c.want {
			t.Errorf("%s finds %q, want %q", c.query, got, c.want)
		}
	}
	if got := found(t, s, "-", SearchOptions{}); got != "3" {
		t.Errorf("a lone minus finds %q", got)
	}
}

func TestRanking(t *testing.T) {
	s := openTemp(t)
	now := time.Now()
	at := func(id, content string, age time.Duration) {
		put(t, s, "user", id, "c", "t-"+id,
			fmt.Sprintf(`"content":%q,"ts":%q`, content, now.Add(-age).UTC().Format(record.TimeFormat)))
	}
	const day = 24 * time.Hour
	at("part", "needles needles needles", 0)
	at("new", "a needle in the hay", day)
	at("old", "a needle in the hay", 300*day)
	at("thrice", "a needle, needle, needle", 300*day)
	at("long", "a needle "+strings.Repeat("hay ", 200), day)
	at("both", "needle and thread", 300*day)
	at("same", "a needle in the hay", day)
	for range 30 {
		say(t, s, record.NewID("x-"), "c", "thread of something else")
	}
	hits, err := s.Search("needle", SearchOptions{})
	if got := ids(hits); err != nil || got != "thrice both same old new long part" {
		t.Errorf("needle: %s %v", got, err)
	}
	for i, h := range hits {
		if h.WholeWord != (h.Score > 0) || i > 0 && h.Score > hits[i-1].Score || h.WholeWord != (h.RecordID != "part") {
			t.Errorf("hit %d: %+v", i, h)
		}
	}
	// The rarer word weighs more.
	if hits, err = s.Search("needle OR thread", SearchOptions{Limit: 3}); err != nil ||
		!strings.Contains(ids(hits), "same") || strings.Contains(ids(hits), "x-") {
		t.Errorf("needle OR thread: %s %v", ids(hits), err)
	}
}

func TestFilters(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		t.Run(fmt.Sprintf("indexed=%v", indexed), func(t *testing.T) {
			s := openTemp(t)
			if !indexed { // as in a file of version 1, which is only read
				if err := s.conn.Exec(`DROP INDEX entries_ts; DROP INDEX entries_tool; DROP INDEX entries_provider`); err != nil {
					t.Fatal(err)
				}
			}
			now := time.Now()
			for i, age := range []int{10, 400, 0, 30} { // days; not in order
				ts := now.AddDate(0, 0, -age).UTC().Format(record.TimeFormat)
				put(t, s, "user", fmt.Sprint("u", i), fmt.Sprint("c", i%2), "t",
					fmt.Sprintf(`"content":"word one","ts":%q`, ts))
				put(t, s, "response", fmt.Sprint("r", i), fmt.Sprint("c", i%2), "t",
					fmt.Sprintf(`"provider":"p%d","final_text":"word two","ts":%q`, i, ts))
				put(t, s, "tool_result", fmt.Sprint("x", i), fmt.Sprint("c", i%2), "t",
					fmt.Sprintf(`"tool":"tool%d","status":"allowed","success":true,"output":"words","ts":%q`, i%2, ts))
			}
			for _, c := range []struct {
				o    SearchOptions
				want string
			}{
				{SearchOptions{Role: "user"}, "u0 u1 u2 u3"}, {SearchOptions{Role: "tool"}, "x0 x1 x2 x3"},
				{SearchOptions{Role: "nobody"}, ""},
				{SearchOptions{Kind: "response"}, "r0 r1 r2 r3"}, {SearchOptions{Kind: "response", Role: "user"}, ""},
				{SearchOptions{Tool: "tool1"}, "x1 x3"}, {SearchOptions{Tool: "tool"}, ""},
				{SearchOptions{Provider: "p2"}, "r2"}, {SearchOptions{Provider: "' OR 1"}, ""},
				{SearchOptions{ConversationID: "c1", Role: "user"}, "u1 u3"}, {SearchOptions{ConversationID: "c"}, ""},
				{SearchOptions{Since: "20d", Role: "user"}, "u0 u2"},
				{SearchOptions{Until: "20d", Role: "user"}, "u1 u3"},
				{SearchOptions{Since: "60d", Until: "20d", Role: "user"}, "u3"},
				{SearchOptions{Since: now.AddDate(0, 0, -10).Format(time.DateOnly), Until: now.AddDate(0, 0, -10).
					Format(time.DateOnly)}, "r0 u0 x0"},
				{SearchOptions{Since: "1m", Until: "2m"}, ""}, {SearchOptions{Until: "100w"}, ""},
				{SearchOptions{Until: now.Add(time.Hour).Format(time.RFC3339), Role: "user"}, "u0 u1 u2 u3"},
			} {
				if got := found(t, s, "word", c.o); got != c.want {
					t.Errorf("%+v finds %q, want %q", c.o, got, c.want)
				}
			}
			if _, err := s.Search("word", SearchOptions{Since: "yesterday"}); !errors.Is(err, ErrTime) {
				t.Errorf("a time that is none: %v", err)
			}
		})
	}
}

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 5, 12, 14, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"2026-05-01T10:00:00Z": "2026-05-01T10:00:00.000Z", "2026-05-01T10:00:00.5+02:00": "2026-05-01T08:00:00.500Z",
		"2026-05-01": "2026-04-30T22:00:00.000Z", "30m": "2026-05-12T12:00:00.000Z", "24h": "2026-05-11T12:30:00.000Z",
		"7d": "2026-05-05T12:30:00.000Z", "2w": "2026-04-28T12:30:00.000Z", "0d": "2026-05-12T12:30:00.000Z",
	} {
		got, err := ParseTime(text, now, false)
		if err != nil || got.UTC().Format(record.TimeFormat) != want {
			t.Errorf("%s is %v %v, want %s", text, got, err, want)
		}
	}
	if got, err := ParseTime("2026-05-01", now, true); err != nil ||
		got.UTC().Format(record.TimeFormat) != "2026-05-01T21:59:59.999Z" {
		t.Errorf("the end of a day: %v %v", got, err)
	}
	for _, text := range []string{"", "d", "7", "-7d", "+7d", "7 d", "1.5h", "99999999999d", "36501d", "4294967295m",
		"2026-13-01", "2026-02-30", "12:00", "now", "7D", "7y", "\x00"} {
		if got, err := ParseTime(text, now, false); !errors.Is(err, ErrTime) {
			t.Errorf("%q is %v %v", text, got, err)
		}
	}
}
