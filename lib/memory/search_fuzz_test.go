package memory

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// naive says by the plainest means whether content holds a word, and whether as a word of its own.
func naive(content, word string) (found, whole bool) {
	lower := func(s string) []rune {
		var out []rune
		for _, r := range s {
			out = append(out, unicode.ToLower(unicode.ToUpper(r)))
		}
		return out
	}
	c, w := lower(content), lower(word)
	for i := 0; i+len(w) <= len(c); i++ {
		if !slices.Equal(c[i:i+len(w)], w) {
			continue
		}
		found = true
		goesOn := func(at int) bool { return at > 0 && at < len(c) && isWord(c[at-1]) && isWord(c[at]) }
		whole = whole || !goesOn(i) && !goesOn(i+len(w))
	}
	return found, whole
}

// FuzzSearch: no query is an error but a blank one; what is found for plain words really holds each of them, whole if
// the hit says so; what holds them is found; and the marks lie within the snippet, in order.
func FuzzSearch(f *testing.F) {
	for _, q := range []string{"foo", `"`, "a OR b", "%_", "\x00", "\xff\xfe", "é", "日本", "foo-bar NEAR(x)",
		`"foo bar"`, `"foo`, "foo*", "-foo", "foo -bar",
		"NOT", "a NOT", "OR a", "a AND b", `-"a b" c`, `a "`, `""`, "*", "a**", "--", "- a", "a OR OR b",
		strings.Repeat("ab ", 600), strings.Repeat("x", 5000)} {
		f.Add(q, "content "+q)
	}
	s := openTemp(f)
	contents := map[string]string{}
	f.Fuzz(func(t *testing.T, query, content string) {
		id := fmt.Sprint("f", len(contents))
		contents[id] = strings.ToValidUTF8(content, "")
		say(t, s, id, "c", contents[id])
		found, err := s.Find(query, SearchOptions{Limit: MaxHits})
		parsed := parseQuery(query)
		if len(parsed.clauses) == 0 {
			if !errors.Is(err, ErrEmptyQuery) {
				t.Fatalf("blank query: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("Find(%q): %v", query, err)
		}
		for _, h := range found.Hits {
			checkMarks(t, h)
		}
		if utf8.RuneCountInString(query) < maxQueryRunes && reflect.DeepEqual(parsed, plain(boundedQuery(query))) {
			checkPlain(t, parsed, found, contents, id)
		}
	})
}

func checkMarks(t *testing.T, h Hit) {
	t.Helper()
	at := 0
	for _, m := range h.Matches {
		if m.Start < at || m.End <= m.Start || m.End > len(h.Snippet) {
			t.Fatalf("spans %v of %q", h.Matches, h.Snippet)
		}
		at = m.End
	}
	if !utf8.ValidString(h.Snippet) || len(h.Matches) == 0 {
		t.Fatalf("snippet %q, matches %v", h.Snippet, h.Matches)
	}
}

// checkPlain compares what was found with what the entries hold.
func checkPlain(t *testing.T, q query, found Found, contents map[string]string, last string) {
	t.Helper()
	holds := func(content string) (all, whole bool) {
		all, whole = true, true
		for _, c := range q.clauses {
			f, w := naive(content, c[0].text)
			all, whole = all && f, whole && w
		}
		return all, all && whole
	}
	seen := map[string]bool{}
	for _, h := range found.Hits {
		if all, whole := holds(contents[h.RecordID]); !all || whole != h.WholeWord || seen[h.RecordID] {
			t.Fatalf("%+v: found in %q: holds it %v, as words %v; shown before %v", q, contents[h.RecordID], all, whole,
				seen[h.RecordID])
		}
		seen[h.RecordID] = true
	}
	if all, _ := holds(contents[last]); all && !seen[last] && found.Next == "" {
		t.Fatalf("%+v does not find %q", q, contents[last])
	}
}

// FuzzCursor: whatever is given as a cursor is refused or leads to a page.
func FuzzCursor(f *testing.F) {
	s := openTemp(f)
	for i := range 50 {
		say(f, s, fmt.Sprint(i), "c", "needle in hay "+strings.Repeat("x ", i))
	}
	found, err := s.Find("needle hay", SearchOptions{Limit: 10})
	if err != nil || found.Next == "" {
		f.Fatalf("%+v %v", found, err)
	}
	raw := []byte(found.Next)
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		f.Add(string(changed))
	}
	f.Add(found.Next)
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		if _, err := s.Find("needle hay", SearchOptions{After: cursor}); err != nil && !errors.Is(err, ErrCursor) {
			t.Fatalf("cursor %q: %v", cursor, err)
		}
	})
}
