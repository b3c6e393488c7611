package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
)

// pages searches page by page and calls between before each but the first. It fails if that takes more than a thousand
// pages.
func pages(t *testing.T, s *Store, query string, o SearchOptions, b bounds, between func(page int)) (all []string) {
	t.Helper()
	for page := range 1000 {
		if page > 0 {
			between(page)
		}
		s.mu.Lock()
		f, err := s.find(parseQuery(query), query, o, b)
		s.mu.Unlock()
		if err != nil {
			t.Fatalf("page %d of %q: %v", page, query, err)
		}
		if len(f.Hits) > o.Limit {
			t.Fatalf("page %d has %d hits", page, len(f.Hits))
		}
		all = append(all, strings.Fields(ids(f.Hits))...)
		if o.After = f.Next; f.Next == "" {
			return all
		}
	}
	t.Fatalf("%q has no last page", query)
	return nil
}

// fillPages adds entries with words of different rank, whole and as parts, of which some pass a filter.
func fillPages(t *testing.T, s *Store, from, to int) {
	var all []record.Line
	for i := from; i < to; i++ {
		content := fmt.Sprintf("alpha%s %sbeta gamma %s", strings.Repeat(" alpha", i%4), []string{"", "x"}[i%3/2],
			strings.Repeat("pad ", i*7%23))
		if i%5 == 0 {
			content = strings.Replace(content, "alpha", "alphabet", 1)
		}
		all = append(all, parse(t, []string{"user", "final"}[i%2], fmt.Sprint("e", i), fmt.Sprint("c", i%3), "t",
			fmt.Sprintf(`"content":%q`, content)))
	}
	if _, err := s.Import(all, ""); err != nil {
		t.Fatal(err)
	}
}

// pagesHold is how many entries the tests of pages look through: each query finds more than any page holds, but the
// whole.
const pagesHold = 75

var pagedQueries = []struct {
	query string
	o     SearchOptions
}{
	{"alpha", SearchOptions{}}, {"alpha beta", SearchOptions{}}, {"lph", SearchOptions{}}, {"a", SearchOptions{}},
	{"al* -xbeta", SearchOptions{}},
	{`"beta gamma" OR alphabet`, SearchOptions{}}, {"alpha", SearchOptions{Role: "user"}},
	{"beta", SearchOptions{ConversationID: "c1"}},
}

// TestPagesAreStable: page by page, while others write, comes exactly what was there at the first page, and each once.
// What others write changes how much words weigh, so that two hits of nearly the same score may change places.
func TestPagesAreStable(t *testing.T) {
	for _, c := range pagedQueries {
		t.Run(c.query, func(t *testing.T) {
			s := openTemp(t)
			fillPages(t, s, 0, pagesHold)
			o := c.o
			o.Limit = 200
			want := pages(t, s, c.query, o, defaultBounds, func(int) {})
			if len(want) < 20 {
				t.Fatalf("only %d hits", len(want))
			}
			other := openAtPath(t, s.path)
			n := pagesHold
			o.Limit = 7
			if got := pages(t, s, c.query, o, defaultBounds, func(int) {}); !slices.Equal(got, want) {
				t.Errorf("undisturbed, in pages %v\nat once  %v", got, want)
			}
			got := pages(t, s, c.query, o, defaultBounds, func(int) {
				fillPages(t, other, n, n+9)
				n += 9
			})
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("in pages %v\nat once  %v", got, want)
			}
		})
	}
}

// TestPagesOverWindows: with windows and bounds so small that every page hits them, all is still found, and each once.
func TestPagesOverWindows(t *testing.T) {
	s := openTemp(t)
	fillPages(t, s, 0, pagesHold)
	for _, c := range pagedQueries {
		o := c.o
		o.Limit = 200
		want := pages(t, s, c.query, o, defaultBounds, func(int) {})
		slices.Sort(want)
		for _, b := range []bounds{{10, 1000, 1 << 20}, {10, 70, 1 << 20}, {10, 1000, 1}, {3, 40, 300}, {1, 1, 1}} {
			limits := []int{1, 7, 200}
			if b.window == 1 { // a page each
				limits = limits[1:2]
			}
			for _, limit := range limits {
				o.Limit = limit
				got := pages(t, s, c.query, o, b, func(int) {})
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("%q with %+v, %d a page: %d hits, want %d", c.query, b, limit, len(got), len(want))
				}
			}
		}
	}
}

// TestPagesWhileOthersDelete: what stays is shown, and nothing twice.
func TestPagesWhileOthersDelete(t *testing.T) {
	s := openTemp(t)
	fillPages(t, s, 0, pagesHold)
	o := SearchOptions{Limit: 200}
	want := pages(t, s, "alpha", o, defaultBounds, func(int) {})
	o.Limit = 7
	got := pages(t, s, "alpha", o, bounds{30, 1000, 1 << 20}, func(page int) {
		if page == 2 {
			if err := s.conn.Exec(`DELETE FROM entries WHERE conversation_id = 'c1'`); err != nil {
				t.Fatal(err)
			}
		}
	})
	seen := map[string]bool{}
	for _, id := range got {
		if seen[id] {
			t.Errorf("%s is shown twice", id)
		}
		seen[id] = true
	}
	for _, id := range want {
		var n int
		if fmt.Sscanf(id, "e%d", &n); n%3 != 1 && !seen[id] {
			t.Errorf("%s is not shown", id)
		}
	}
	if _, err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	if got := pages(t, s, "alpha", SearchOptions{Limit: 3}, defaultBounds, func(int) {}); len(got) != 0 {
		t.Errorf("after Clear: %v", got)
	}
}

func TestCursorsOfOtherSearches(t *testing.T) {
	s := openTemp(t)
	fillPages(t, s, 0, 60)
	first, err := s.Find("alpha", SearchOptions{Limit: 5, Role: "user"})
	if err != nil || first.Next == "" {
		t.Fatalf("%+v %v", first, err)
	}
	if next, err := s.Find("alpha", SearchOptions{Limit: 9, Role: "user", After: first.Next}); err != nil ||
		len(next.Hits) != 9 {
		t.Errorf("a page of another size: %d hits, %v", len(next.Hits), err)
	}
	for name, f := range map[string]func() (Found, error){
		"query":  func() (Found, error) { return s.Find("beta", SearchOptions{Role: "user", After: first.Next}) },
		"filter": func() (Found, error) { return s.Find("alpha", SearchOptions{After: first.Next}) },
		"since": func() (Found, error) {
			return s.Find("alpha", SearchOptions{Role: "user", Since: "7d", After: first.Next})
		},
		"cut": func() (Found, error) {
			return s.Find("alpha",
				SearchOptions{Role: "user", After: first.Next[:20]})
		},
		"longer": func() (Found, error) {
			return s.Find("alpha",
				SearchOptions{Role: "user", After: first.Next + "AAAA"})
		},
		"no cursor": func() (Found, error) { return s.Find("alpha", SearchOptions{Role: "user", After: "page 2"}) },
	} {
		if got, err := f(); !errors.Is(err, ErrCursor) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// TestSearchLooksOnlySoFar: a filter that nothing passes ends within bounds, and says that there is more to look at.
func TestSearchLooksOnlySoFar(t *testing.T) {
	s := openTemp(t)
	fillPages(t, s, 0, 100)
	q := parseQuery("gamma")
	b := bounds{2000, 30, 1 << 20}
	f, err := s.find(q, "gamma", SearchOptions{Role: "tool"}, b)
	if err != nil || len(f.Hits) != 0 || f.Next == "" {
		t.Fatalf("%+v %v", f, err)
	}
	if got := pages(t, s, "gamma", SearchOptions{Role: "tool", Limit: 5}, b, func(int) {}); len(got) != 0 {
		t.Errorf("found %v", got)
	}
}
