package policy

import (
	"slices"
	"strings"
	"unicode"
)

// awkSpecial are variables that decide what awk reads.
var awkSpecial = []string{"ARGV", "ARGC", "ARGIND", "ENVIRON", "PROCINFO", "FUNCTAB", "SYMTAB", "FILENAME"}

// awkWords are names with which a program can do more than compute and print.
var awkWords = append([]string{"system", "getline", "close", "fflush", "nextfile", "include", "load", "extension"},
	awkSpecial[:7]...)

const awkUnread = "part of the program is ambiguous"

// awkProgram says what in an awk program can do more than compute and print, or what this cannot read; "" if nothing
// does.
func awkProgram(src string) string {
	a := &awkReader{src: src}
	for a.at < len(a.src) {
		if why := a.token(); why != "" {
			return why
		}
	}
	return ""
}

// awkReader reads a program token by token: as much of the grammar as tells a pattern from a division, and a comparison
// from a redirection.
type awkReader struct {
	src      string
	at       int
	before   string // the token before; "value" if it is one
	printing bool   // in the arguments of print
	depth    int    // of brackets there
	conds    []bool // of each open bracket: it holds the condition of a statement, behind which no value ends
}

func (a *awkReader) token() string {
	switch c := a.src[a.at]; {
	case c == ' ' || c == '\t':
		a.at++
	case c == '#':
		for a.at < len(a.src) && a.src[a.at] != '\n' {
			a.at++
		}
	case c == '\\':
		if !strings.HasPrefix(a.src[a.at:], "\\\n") {
			return awkUnread
		}
		a.at += 2
	case c == '"':
		return a.quoted('"')
	case c == '/' && a.before != "value":
		if a.before == "++" || a.before == "--" {
			return awkUnread // a pattern or a division
		}
		return a.quoted('/')
	case c == '_' || unicode.IsLetter(rune(c)):
		return a.word()
	case unicode.IsDigit(rune(c)) || c == '.' && a.at+1 < len(a.src) && unicode.IsDigit(rune(a.src[a.at+1])):
		for a.at < len(a.src) && (unicode.IsDigit(rune(a.src[a.at])) || a.src[a.at] == '.' ||
			unicode.IsLetter(rune(a.src[a.at]))) {
			a.at++
		}
		a.before = "value"
	default:
		return a.operator(c)
	}
	return ""
}

// quoted skips a text or a pattern.
func (a *awkReader) quoted(quote byte) string {
	n := quotedEnd(a.src[a.at:], quote)
	if n < 0 || quote == '/' && openBracket(a.src[a.at:a.at+n]) {
		return awkUnread
	}
	a.at, a.before = a.at+n, "value"
	return ""
}

// awkStatements are words after which a value begins.
var awkStatements = []string{"print", "printf", "return", "in", "if", "while", "for", "do", "else", "switch", "BEGIN",
	"END", "delete", "exit", "case"}

func (a *awkReader) word() string {
	end := a.at
	for end < len(a.src) && (a.src[end] == '_' || unicode.IsLetter(rune(a.src[end])) ||
		unicode.IsDigit(rune(a.src[end]))) {
		end++
	}
	word := a.src[a.at:end]
	a.at, a.before = end, "value"
	if slices.Contains(awkWords, word) {
		return word + " can do more than compute and print"
	}
	if slices.Contains(awkStatements, word) {
		a.before = word
	}
	if word == "print" || word == "printf" {
		a.printing, a.depth = true, 0
	}
	return ""
}

func (a *awkReader) operator(c byte) string {
	bare := a.printing && a.depth == 0
	two := a.src[a.at:min(a.at+2, len(a.src))]
	switch {
	case two == ">=" && bare, c == '>' && bare:
		return "it writes a file"
	case slices.Contains([]string{"||", "&&", "==", "<=", ">=", "!=", "++", "--"}, two):
		a.before, a.at = two, a.at+2
		return ""
	case c == '|':
		return "it runs a program through a pipe"
	case c == '@':
		return "it loads or calls something by name"
	case c == '<' && bare, two == "<<":
		return awkUnread
	case c == '(' || c == '[':
		a.depth++
		a.conds = append(a.conds, c == '(' && slices.Contains([]string{"if", "while", "for", "switch"}, a.before))
	case c == ')' || c == ']':
		return a.closed()
	case c == '\n' && a.printing && !slices.Contains([]string{"value", "print", "printf", "++", "--"}, a.before):
		a.at++ // behind a comma, or another operator, print goes on in the next line
		return ""
	case c == ';' || c == '}' || c == '{' || c == '\n':
		a.printing = false
	case strings.IndexByte("+-*/%^!<>=?:,~$&", c) < 0:
		return awkUnread
	}
	a.before, a.at = string(c), a.at+1
	return ""
}

// closed takes a closing bracket. What begins behind a condition is a statement: a slash there is a pattern, no
// division.
func (a *awkReader) closed() string {
	a.depth--
	a.at, a.before = a.at+1, "value"
	if n := len(a.conds) - 1; n >= 0 {
		if a.conds[n] {
			a.before = ")"
		}
		a.conds = a.conds[:n]
	}
	return ""
}

// openBracket tells whether a pattern ends within a bracket: some readers take the slash there for a letter.
func openBracket(s string) bool {
	open := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[' && !open:
			open = true
			if i+1 < len(s) && s[i+1] == '^' {
				i++
			}
			if i+1 < len(s) && s[i+1] == ']' {
				i++
			}
		case open && s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			end := strings.Index(s[i+2:], s[i+1:i+2]+"]")
			if end < 0 {
				return true
			}
			i += end + 3 // [:alpha:] does not close the bracket that it stands in
		case s[i] == ']':
			open = false
		}
	}
	return open
}

// quotedEnd is how long a quoted text is, with its quotes; -1 if it does not end.
func quotedEnd(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			return -1
		case quote:
			return i + 1
		}
	}
	return -1
}
