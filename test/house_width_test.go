package test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns is how wide a line may be, with tabs of four.
const mostColumns = 120

// TestWidths holds lines of Go to their width. A text that is one literal may be longer: whoever searches for a message
// finds it whole.
func TestWidths(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts := textColumns(source)
		for i, line := range strings.Split(string(source), "\n") {
			n := columns(line)
			if text, ok := texts[i+1]; n > mostColumns && (!ok || text > 0 && n-text > mostColumns-20) {
				t.Errorf("%s:%d: %d columns, at most %d", path, i+1, n, mostColumns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// textColumns are the columns of the longest text on each line; 0 within a text of several lines.
func textColumns(source []byte) map[int]int {
	file := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	out := map[int]int{}
	for {
		at, what, text := s.Scan()
		if what == token.EOF {
			return out
		}
		if what != token.STRING {
			continue
		}
		line, lines := file.Line(at), strings.Count(text, "\n")
		if before, within := out[line]; lines == 0 && !(within && before == 0) {
			out[line] = max(before, columns(text))
		}
		for i := 0; i <= lines && lines > 0; i++ {
			out[line+i] = 0
		}
	}
}

// columns is the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}
