package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func ids(hits []Hit) string {
	var out []string
	for _, h := range hits {
		out = append(out, h.RecordID)
	}
	return strings.Join(out, " ")
}

func TestSearch(t *testing.T) {
	s := openTemp(t)
	for i, content := range []string{
		"The Aardvark adapter is done",         // 0
		"aardvarks are many",                   // 1
		"adapter for AARDVARK, twice",          // 2
		"100% of foo_bar's \"quotes\" in C++",  // 3
		"Straße nach ΟΔΥΣΣΕΥΣ und Größe",       // 4
		"日本語の文章です",                             // 5
		"nul\x00byte and emoji 👍🏽 here",        // 6
		"go to the x file; foo-bar is not foo", // 7
		"OR AND NOT NEAR col:umn ^start *",     // 8
		"no c here, but C# and c++11",          // 9
		"naïve café",                           // 10
	} {
		say(t, s, fmt.Sprint(i), "conv-"+fmt.Sprint(i%2), content)
	}
	for _, c := range []struct{ query, want string }{
		{"aardvark", "2 0 1"}, {"AARDVARK adapter", "2 0"}, {"adapter aardvark", "2 0"}, {"ardva", "2 1 0"},
		{"aardvark aardvark", "2 0 1"}, {"100%", "3"}, {"%", "3"}, {"_", "3"}, {"foo_bar", "3"}, {"foo", "7 3"},
		{"foo-bar", "7"},
		{`"quotes"`, "3"}, {`"`, "3"}, {`'`, "3"}, {"c++", "9 3"}, {"C", "9 3 10 8 4 2"},
		{"straße", "4"}, {"STRAßE", "4"}, {"οδυσσευς", "4"}, {"größe", "4"}, {"röß", "4"}, {"gros", ""},
		{"日本", "5"}, {"本語の", "5"}, {"文", "5"}, {"👍", "6"}, {"👍🏽", "6"}, {"nul\x00byte", "6"}, {"byte", "6"},
		{"x", "7"}, {"OR", "8 2"}, {"NOT", "8 7"}, {"NEAR(", ""}, {"col:umn", "8"}, {"^start", "8"}, {"*", "8"},
		{"AND", "6 8 9"},
		{"café", "10"}, {"CAFÉ", "10"}, {"ïve", "10"}, {"foo %", "3"}, {"zzz", ""}, {"(((", ""}, {"\\", ""},
		{"';DROP TABLE entries;--", ""},
	} {
		hits, err := s.Search(c.query, SearchOptions{})
		if err != nil {
			t.Errorf("Search(%q): %v", c.query, err)
			continue
		}
		if ids(hits) != c.want {
			t.Errorf("Search(%q) = %q, want %q", c.query, ids(hits), c.want)
		}
		one, err := s.Search(c.query, SearchOptions{ConversationID: "conv-0"})
		var even []Hit
		for _, h := range hits {
			if h.ConversationID == "conv-0" {
				even = append(even, h)
			}
		}
		if err != nil || ids(one) != ids(even) {
			t.Errorf("Search(%q) in conv-0 = %q, %v; want %q", c.query, ids(one), err, ids(even))
		}
	}
	for _, q := range []string{"", " \t\n", "\x00", "\u00a0"} {
		if _, err := s.Search(q, SearchOptions{}); !errors.Is(err, ErrEmptyQuery) {
			t.Errorf("Search(%q): %v", q, err)
		}
	}
}

func TestSearchOrderAndLimit(t *testing.T) {
	s := openTemp(t)
	for i := range 30 {
		say(t, s, fmt.Sprintf("w%d", i), "c", "needle in hay")
		say(t, s, fmt.Sprintf("p%d", i), "c", "needles in hay")
	}
	for _, o := range []SearchOptions{{}, {ConversationID: "c"}} {
		hits, err := s.Search("needle", o)
		if err != nil || len(hits) != 20 || hits[0].RecordID != "w29" || !hits[19].WholeWord {
			t.Errorf("%+v: %q %v", o, ids(hits), err)
		}
		o.Limit = 35
		if hits, _ = s.Search("needle", o); len(hits) != 35 || hits[29].RecordID != "w0" ||
			hits[30].RecordID != "p29" || hits[30].WholeWord {
			t.Errorf("%+v: %q", o, ids(hits))
		}
		o.Limit = 1000
		if hits, _ = s.Search("hay", o); len(hits) != 60 {
			t.Errorf("%+v: %d hits", o, len(hits))
		}
	}
}

func TestSearchDoesNotRepeatTheAnswer(t *testing.T) {
	s := openTemp(t)
	toolTurn(t, s, "conv-1", "1")
	hits, err := s.Search("one file", SearchOptions{})
	if err != nil || ids(hits) != "resp-1b" {
		t.Errorf("%q %v", ids(hits), err)
	}
	if hits, _ = s.Search("a.txt", SearchOptions{}); len(hits) != 1 || hits[0].Tool != "file_list" ||
		hits[0].Role != "tool" {
		t.Errorf("tool output: %+v", hits)
	}
}

func TestSnippet(t *testing.T) {
	pad := strings.Repeat("größer ", 200)
	for name, c := range map[string]struct{ content, query, marked string }{
		"short":     {"find me here", "ME", "find «me» here"},
		"lines":     {"a\nfind\tme", "find", "a «find» me"},
		"two words": {"one two one", "two one", "«one» «two» «one»"},
		"adjacent":  {"abab", "ab", "«abab»"},
		"kelvin":    {"10 \u212a", "k", "10 «\u212a»"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			say(t, s, "1", "c", c.content)
			hits, err := s.Search(c.query, SearchOptions{})
			if err != nil || len(hits) != 1 || hits[0].Mark("«", "»", nil) != c.marked {
				t.Errorf("%+v %v, want %q", hits, err, c.marked)
			}
		})
	}
	for name, content := range map[string]string{"middle": pad + "Nadel" + pad, "start": "Nadel " + pad,
		"end": pad + "nadel"} {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			say(t, s, "1", "c", content)
			hits, err := s.Search("nadel", SearchOptions{})
			if err != nil || len(hits) != 1 || len(hits[0].Matches) != 1 {
				t.Fatalf("%+v %v", hits, err)
			}
			h := hits[0]
			m := h.Matches[0]
			if !strings.EqualFold(h.Snippet[m.Start:m.End], "nadel") || utf8.RuneCountInString(h.Snippet) > 160 {
				t.Errorf("%d runes, match %q in %q", utf8.RuneCountInString(h.Snippet), h.Snippet[m.Start:m.End],
					h.Snippet)
			}
			if strings.HasPrefix(h.Snippet, "…") != (name != "start") ||
				strings.HasSuffix(h.Snippet, "…") != (name != "end") {
				t.Errorf("ellipses of %q", h.Snippet)
			}
		})
	}
}
