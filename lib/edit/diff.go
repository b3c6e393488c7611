package edit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"clawsh/lib/spelling"
)

// Diff returns the unified diff of two texts, "" if they are the same. The names are shown as they are given.
func Diff(oldName, newName, old, new string) string {
	b := diff.Diff("a", []byte(old), "b", []byte(new))
	if b == nil {
		return ""
	}
	for range 3 { // its own head, with names
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return "--- " + oldName + "\n+++ " + newName + "\n" + string(b)
}

// Bounded returns the first lines of a text, at most that many bytes, and says how many lines were left out.
func Bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := strings.LastIndexByte(text[:most], '\n') + 1
	return text[:end] + fmt.Sprintf("… %s of this diff\n", spelling.Count(strings.Count(text[end:], "\n"), "more line"))
}
