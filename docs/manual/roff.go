package manual

import (
	"regexp"
	"strings"
)

const width = 79

var bold = regexp.MustCompile(`\\fB(.*?)\\f[PR]`)

// tidy makes of md2man's text what mandoc finds nothing wrong with: lines are broken, and the minus signs of what is
// typed are such, so that a reader can copy them.
func tidy(page []byte) []byte {
	var out []string
	literal, table, cell := false, false, false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == ".EX", line == ".EE":
			literal = line == ".EX"
		case line == ".TS", line == ".TE":
			table = line == ".TS"
		case strings.HasSuffix(line, "T{"), strings.HasPrefix(line, "T}"):
			cell = strings.HasSuffix(line, "T{")
			line = minus(line)
		case literal:
			line = strings.ReplaceAll(line, "-", `\-`)
		case line == "" || line == ".PP" && follows(out):
			continue
		case !strings.HasPrefix(line, ".") && (!table || cell):
			out = append(out, filled(minus(line))...)
			continue
		case !strings.HasPrefix(line, ".TH"):
			line = minus(line)
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// follows tells whether a paragraph begins by itself here.
func follows(out []string) bool {
	last := out[len(out)-1]
	return strings.HasPrefix(last, ".SH") || strings.HasPrefix(last, ".SS") || last == ".PP"
}

func minus(line string) string {
	return bold.ReplaceAllStringFunc(line, func(s string) string { return strings.ReplaceAll(s, "-", `\-`) })
}

// filled breaks a line between words.
func filled(line string) []string {
	var lines []string
	current := ""
	for _, w := range strings.Fields(line) {
		if current != "" && len(current)+1+len(w) > width {
			lines, current = append(lines, current), ""
		}
		if current == "" && (w[0] == '.' || w[0] == '\'') {
			w = `\&` + w
		}
		current = strings.TrimLeft(current+" "+w, " ")
	}
	return append(lines, current)
}
