package spelling

import (
	"fmt"
	"strings"
)

// Count returns a number and a word in the right form: "1 entry", "2 entries". It knows the regular plurals of
// English.
func Count[N ~int | ~int64 | ~uint32 | ~uint64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %s", n, plural(word))
}

func plural(word string) string {
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(word, end) {
			return word + "es"
		}
	}
	stem, ok := strings.CutSuffix(word, "y")
	if ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return word + "s"
}

// Or lists words, with "or" before the last.
func Or[S ~string](words []S) (text string) {
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += string(w)
	}
	return text
}
