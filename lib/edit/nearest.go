package edit

import (
	"fmt"
	"strings"

	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Limits of what is reported about a text that was not found, and of the work to find similar lines.
const (
	maxShownLines = 12
	maxShownBytes = 160
	maxCompared   = 4 << 20  // pairs of lines
	maxPairs      = 32 << 20 // pairs of words
)

// notFound says that a text does not occur, and shows the most similar lines.
func notFound(text, old string) error {
	have, want := splitLines(text), splitLines(old)
	if len(have) == 0 {
		return fmt.Errorf("old was not found: the file is empty")
	}
	if same := sameButBlanks(have, want); len(same) > 0 {
		at := make([]string, 0, len(same))
		for _, n := range same[:min(len(same), maxReported)] {
			at = append(at, fmt.Sprint(n+1))
		}
		return fmt.Errorf("old was not found; the text at line %s differs from it only in white space:\n%s",
			strings.Join(at, ", "),
			show(have, same[0], len(want)))
	}
	if from, ok := nearest(have, want); ok {
		return fmt.Errorf("old was not found; the nearest lines are:\n%s", show(have, from, len(want)))
	}
	return fmt.Errorf("old was not found, nor anything similar: read the file again (it has %s)",
		spelling.Count(len(have), "line"))
}

func splitLines(s string) []string {
	s = strings.TrimSuffix(toUnix(s), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// plain is a line without its white space.
func plain(line string) string { return strings.Join(strings.Fields(line), "") }

func plainAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = plain(l)
	}
	return out
}

// sameButBlanks are the indexes at which the lines match, ignoring white space.
func sameButBlanks(have, want []string) []int {
	if strings.TrimSpace(strings.Join(want, "")) == "" || len(have)*len(want) > maxCompared {
		return nil
	}
	h, w := plainAll(have), plainAll(want)
	var at []int
	for i := 0; i+len(w) <= len(h); i++ {
		if match(h[i:i+len(w)], w) {
			at = append(at, i)
		}
	}
	return at
}

// match compares lines; the first may be the end of one, and the last the beginning.
func match(have, want []string) bool {
	last := len(want) - 1
	if last == 0 {
		return strings.Contains(have[0], want[0])
	}
	for i := 1; i < last; i++ {
		if have[i] != want[i] {
			return false
		}
	}
	return strings.HasSuffix(have[0], want[0]) && strings.HasPrefix(have[last], want[last])
}

// nearest is the index of the lines that have most in common with the wanted ones.
func nearest(have, want []string) (int, bool) {
	h, w := words(have), words(want)
	best, at, work := 0, 0, 0
	for i := range h {
		if (i+1)*len(w) > maxCompared || work > maxPairs {
			break
		}
		score := 0
		for j := 0; j < len(w) && i+j < len(h) && work <= maxPairs; j++ {
			score += common(h[i+j], w[j])
			work += len(h[i+j]) * len(w[j])
		}
		if score > best {
			best, at = score, i
		}
	}
	all := 0
	for _, line := range w {
		all += weight(line)
	}
	return at, 3*best >= all && best > 0 // less than a third in common is not similar
}

// words are the words of each line: runs of letters, digits and underscores.
func words(lines []string) [][]string {
	out := make([][]string, len(lines))
	for i, l := range lines {
		if len(l) > 4*maxShownBytes {
			l = l[:4*maxShownBytes]
		}
		out[i] = strings.FieldsFunc(l, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < 0x80
		})
	}
	return out
}

func weight(words []string) int {
	n := 0
	for _, w := range words {
		n += len(w)
	}
	return n
}

// common is the weight of the words of a that are in b, too.
func common(a, b []string) int {
	n := 0
	for _, w := range a {
		for _, o := range b {
			if w == o {
				n += len(w)
				break
			}
		}
	}
	return n
}

// show shows lines with their numbers, with one line of context before and after.
func show(lines []string, from, count int) string {
	first, last := max(from-1, 0), min(from+count+1, len(lines))
	var b strings.Builder
	for i := first; i < last; i++ {
		if i-first == maxShownLines {
			fmt.Fprintf(&b, "… up to line %d\n", last)
			break
		}
		b.WriteString(Numbered(i+1, record.Shorten(lines[i], maxShownBytes)))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Numbered returns a line with its number before it.
func Numbered(n int, line string) string { return fmt.Sprintf("%6d\t%s\n", n, line) }
