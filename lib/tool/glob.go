package tool

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxGlobBytes bounds a pattern of names.
const maxGlobBytes = 500

// compileGlob makes a regular expression of a pattern for slash-separated paths: * and ? stay within a name, ** goes
// over any number of directories, [a-z], [!a-z] and \x are as in the shell, and {a,b} where braces is set.
func compileGlob(glob string, braces bool) (*regexp.Regexp, error) {
	if len(glob) > maxGlobBytes {
		return nil, fmt.Errorf("a pattern of names has at most %d bytes", maxGlobBytes)
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	open := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case strings.HasPrefix(glob[i:], "**/") && (i == 0 || glob[i-1] == '/'):
			b.WriteString(`(?:[^/]*/)*`)
			i += 2
		case strings.HasPrefix(glob[i:], "**") && i+2 == len(glob) && (i == 0 || glob[i-1] == '/'):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			set, n := globSet(glob[i:])
			b.WriteString(set)
			i += n - 1
		case c == '\\' && i+1 < len(glob):
			_, size := utf8.DecodeRuneInString(glob[i+1:])
			b.WriteString(regexp.QuoteMeta(glob[i+1 : i+1+size]))
			i += size
		case braces && c == '{' && strings.Contains(glob[i:], "}"):
			b.WriteString(`(?:`)
			open++
		case open > 0 && c == ',':
			b.WriteString(`|`)
		case open > 0 && c == '}':
			b.WriteString(`)`)
			open--
		default:
			_, size := utf8.DecodeRuneInString(glob[i:])
			b.WriteString(regexp.QuoteMeta(glob[i : i+size]))
			i += size - 1
		}
	}
	b.WriteString(strings.Repeat(")", open) + `\z`)
	return regexp.Compile(validText(b.String())) // a name that is not UTF-8 cannot be given
}

// globSet translates [a-z] at the beginning of a pattern, and tells how many bytes it has. One that is not closed is a
// bracket.
func globSet(glob string) (string, int) {
	i, not := 1, ""
	if i < len(glob) && (glob[i] == '!' || glob[i] == '^') {
		i, not = i+1, "^/"
	}
	end := strings.IndexByte(glob[min(i+1, len(glob)):], ']')
	if end < 0 {
		return `\[`, 1
	}
	end += i + 1
	body := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `/`, ``).Replace(glob[i:end])
	set := "[" + not + body + "]"
	if _, err := regexp.Compile(set); err != nil || body == "" {
		return `\[`, 1
	}
	return set, end + 1
}
