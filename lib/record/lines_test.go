package record

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLineReader(t *testing.T) {
	full := strings.Repeat("x", MaxLineBytes)
	for name, c := range map[string]struct {
		in   string
		want []string
		torn bool
	}{
		"nothing":      {"", nil, false},
		"lines":        {"a\nb\n", []string{"a", "b"}, false},
		"an empty one": {"\na\n", []string{"", "a"}, false},
		"a torn one":   {"a\nb", []string{"a", "b"}, true},
		"longer than buffers": {strings.Repeat("y", 200<<10) + "\nb\n", []string{strings.Repeat("y", 200<<10), "b"},
			false},
		"the longest":        {full + "\nb\n", []string{full, "b"}, false},
		"too long":           {full + "x\nb\n", []string{"!", "b"}, false},
		"too long, and torn": {"a\n" + full + "xx", []string{"a", "!"}, true},
	} {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(c.in),
			"halves":       iotest.HalfReader(strings.NewReader(c.in)),
			"small buffer": bufio.NewReaderSize(strings.NewReader(c.in), 16)} {
			l := NewLineReader(in)
			var got []string
			for {
				line, err := l.Next()
				if err == io.EOF {
					break
				}
				if err != nil && !errors.Is(err, ErrTooLong) {
					t.Fatal(err)
				}
				got = append(got, map[bool]string{true: "!", false: string(line)}[err != nil])
			}
			if len(got) != len(c.want) || strings.Join(got, "\n") != strings.Join(c.want, "\n") || l.Torn() != c.torn {
				t.Errorf("%s, %s: %d lines, torn %t", name, how, len(got), l.Torn())
			}
		}
	}
}

// TestWholeLines: a program's lines are kept by who reads them, and one that it did not end is not taken.
func TestWholeLines(t *testing.T) {
	l := NewLineReader(strings.NewReader("one\ntwo\n{\"kind\":\"final\"}"))
	one, err := l.Whole()
	if err != nil {
		t.Fatal(err)
	}
	if two, err := l.Whole(); err != nil || string(one)+string(two) != "onetwo" {
		t.Errorf("%s %s %v", one, two, err)
	}
	if torn, err := l.Whole(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%s %v", torn, err)
	}
	if _, err := NewLineReader(strings.NewReader(strings.Repeat("x", MaxLineBytes+2))).
		Whole(); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	if _, err := NewLineReader(iotest.ErrReader(io.ErrClosedPipe)).Whole(); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}
