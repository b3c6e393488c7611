package memory

import (
	"slices"
	"strings"
	"unicode"
)

// maxIndexed is how many strings an index is asked for at once; the matcher checks the rest.
const maxIndexed = 32

// termsOf splits a query at blanks and NULs, each term once.
func termsOf(query string) []string {
	runes := 0
	for i := range query {
		if runes++; runes > maxQueryRunes {
			query = query[:i]
			break
		}
	}
	query = strings.ToValidUTF8(query, "\ufffd")
	terms := strings.FieldsFunc(query, func(r rune) bool { return r == 0 || unicode.IsSpace(r) })
	var out []string
	for _, t := range terms {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// wordQuery is the FTS5 query for entries in which all terms may be whole words. Terms without a letter or digit are not
// in the index of words and are left to the matcher; it is "" if there are no others.
func wordQuery(terms []string) string {
	var q []string
	for _, t := range terms {
		if len(q) < maxIndexed && strings.ContainsFunc(t, isAlphanumeric) {
			q = append(q, quote(t))
		}
	}
	return strings.Join(q, " AND ")
}

// trigramQuery is the FTS5 query for entries that may hold all terms, or "" if none of them has three letters.
func trigramQuery(terms []string) string {
	var q []string
	for _, t := range terms {
		runes := []rune(t)
		for i := 0; i+3 <= len(runes) && len(q) < maxIndexed; i += 3 {
			q = append(q, quote(string(runes[i:i+3])))
		}
		if n := len(runes); n > 3 && n%3 != 0 && len(q) < maxIndexed {
			q = append(q, quote(string(runes[n-3:])))
		}
	}
	return strings.Join(q, " AND ")
}

// quote makes an FTS5 string, in which only the quote itself is special.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// isWord reports whether a rune is part of a word, as the index of words sees it.
func isWord(r rune) bool { return isAlphanumeric(r) || unicode.IsMark(r) || unicode.Is(unicode.Co, r) }
