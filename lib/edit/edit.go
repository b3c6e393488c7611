// Package edit replaces exact texts in a text, all or nothing, and shows what changed as a unified diff.
//
// It reads and writes no files: the tool that edits and the gate that shows an edit for approval both apply it to
// what they have read, so that they agree.
package edit

import (
	"errors"
	"fmt"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/spelling"
)

// Limits of one call.
const (
	maxEdits    = 100
	maxReported = 8 // line numbers of matches listed in an error
	// maxGrowth is how many bytes the edits of one call may add: each could double the result of the one before.
	maxGrowth = 16 << 20
)

// Edit is one edit of a call.
type Edit = card.Edit

// spelled is an edit in the form in which it is searched for.
type spelled struct{ old, new string }

// Apply makes the edits one after the other, each in the result of the one before, and returns the text and the
// number of places that changed. On an error it returns the original text.
//
// Line endings are those of the text: if an edit has \n and the text \r\n, or the other way round, the edit is
// converted. An Old that ends with a newline also matches at the end of a text without a final newline, which stays
// missing.
func Apply(text string, edits []Edit) (string, int, error) {
	if len(edits) == 0 {
		return text, 0, errors.New("there are no edits")
	}
	if len(edits) > maxEdits {
		return text, 0, fmt.Errorf("there are %d edits; a call can have at most %d", len(edits), maxEdits)
	}
	now, places := text, 0
	for i, e := range edits {
		next, n, err := apply(e, now, len(text)+maxGrowth)
		if err != nil {
			if len(edits) > 1 {
				err = fmt.Errorf("edit %d of %d: %w; none was made", i+1, len(edits), err)
			}
			return text, 0, err
		}
		now, places = next, places+n
	}
	if now == text {
		return text, 0, errors.New("the edits change nothing")
	}
	return now, places, nil
}

// apply makes one edit, unless the result would be longer than most bytes.
func apply(e Edit, text string, most int) (string, int, error) {
	switch {
	case e.Old == "":
		return "", 0,
			errors.New("old is empty: give the text to replace; file_write creates a file or replaces it whole")
	case e.New == nil:
		return "", 0, errors.New("new is missing: give \"\" to delete old")
	case e.Old == *e.New:
		return "", 0, errors.New("old and new are the same")
	}
	for _, v := range variants(e, text) {
		switch n := occurrences(text, v.old); {
		case n == 0:
		case e.All && len(v.new) > len(v.old) && strings.Count(text, v.old) > (most-len(text))/(len(v.new)-len(v.old)):
			return "", 0, fmt.Errorf("it would add more than %d bytes", maxGrowth)
		case e.All:
			return strings.ReplaceAll(text, v.old, v.new), strings.Count(text, v.old), nil
		case n == 1:
			return strings.Replace(text, v.old, v.new, 1), 1, nil
		default:
			return "", 0, fmt.Errorf("old occurs %s, at lines %s: add lines around it until it is unique, or set all",
				spelling.Count(n, "time"),
				strings.Join(linesOf(text, v.old), ", "))
		}
	}
	if cut, ok := unended(e, text); ok {
		return cut, 1, nil
	}
	return "", 0, notFound(text, e.Old)
}

// variants are the forms of an edit to search for, by line endings, the likeliest first.
func variants(e Edit, text string) []spelled {
	returns := strings.Contains(e.Old, "\r\n")
	exact := spelled{e.Old, *e.New}
	dos, unix := spelled{toDOS(e.Old), toDOS(*e.New)}, spelled{toUnix(e.Old), toUnix(*e.New)}
	switch crlf := strings.Count(text, "\r\n"); {
	case crlf == 0 && !returns:
		return []spelled{exact}
	case crlf == 0:
		return []spelled{exact, unix}
	case 2*crlf > strings.Count(text, "\n"):
		return []spelled{dos, exact, unix}
	default:
		return []spelled{exact, unix, dos}
	}
}

func toUnix(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
func toDOS(s string) string  { return strings.ReplaceAll(toUnix(s), "\n", "\r\n") }

// unended is the edit of a last line without a newline, although Old has one.
func unended(e Edit, text string) (string, bool) {
	if strings.HasSuffix(text, "\n") {
		return "", false
	}
	for _, v := range variants(e, text) {
		old, had := strings.CutSuffix(v.old, "\n")
		old = strings.TrimSuffix(old, "\r")
		if !had || old == "" || !strings.HasSuffix(text, old) {
			continue
		}
		rest := strings.TrimSuffix(text, old)
		if rest != "" && !strings.HasSuffix(rest, "\n") && !strings.Contains(old, "\n") {
			continue // the end of another line
		}
		return rest + strings.TrimSuffix(strings.TrimSuffix(v.new, "\n"), "\r"), true
	}
	return "", false
}

// occurrences counts matches, overlapping ones too: it cannot be known which of them is meant.
func occurrences(text, old string) int {
	n := strings.Count(text, old)
	if n == 1 {
		if i := strings.Index(text, old); strings.Contains(text[i+1:], old) {
			return 2
		}
	}
	return n
}

// linesOf are the numbers of the lines in which the matches begin.
func linesOf(text, old string) []string {
	var out []string
	line, at := 1, 0
	for {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return out
		}
		if len(out) == maxReported {
			return append(out, "…")
		}
		line += strings.Count(text[at:at+i], "\n")
		out = append(out, fmt.Sprint(line))
		line += strings.Count(text[at+i:at+i+1], "\n")
		at += i + 1
	}
}
