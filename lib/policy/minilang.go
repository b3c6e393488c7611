package policy

import (
	"slices"
	"strings"
	"unicode"
)

// sedScript says what in a sed script does more than edit text, or what this cannot read; "" if nothing does.
func sedScript(src string) string {
	s := &sedReader{src: src}
	for {
		s.skip(" \t\n;")
		if s.end() {
			return ""
		}
		if why := s.command(); why != "" {
			return why
		}
	}
}

// sedReader reads a script command by command.
type sedReader struct {
	src string
	at  int
}

func (s *sedReader) end() bool { return s.at >= len(s.src) }

func (s *sedReader) peek() byte {
	if s.end() {
		return 0
	}
	return s.src[s.at]
}

func (s *sedReader) skip(set string) {
	for !s.end() && strings.IndexByte(set, s.src[s.at]) >= 0 {
		s.at++
	}
}

const sedUnread = "a part of the script cannot be read"

func (s *sedReader) command() string {
	for i := 0; ; i++ {
		if !s.address() {
			return sedUnread
		}
		s.skip(" \t")
		if i > 0 || s.peek() != ',' {
			break
		}
		s.at++
		s.skip(" \t")
	}
	s.skip(" \t!")
	c := s.peek()
	s.at++
	switch c {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	case 'l', 'q', 'Q', 'L':
		s.skip(" \t0123456789")
	case 'b', 't', 'T', ':':
		for !s.end() && s.peek() != '\n' && s.peek() != ';' && s.peek() != '}' {
			s.at++
		}
		return ""
	case 'a', 'i', 'c':
		s.text()
		return ""
	case 's':
		return s.substitute()
	case 'y':
		d := s.peek()
		s.at++
		if d == 0 || d == '\\' || d == '\n' || !s.until(d, false) || !s.until(d, false) {
			return sedUnread
		}
	case 'e':
		return "the command e runs programs"
	case 'w', 'W':
		return "the command w writes a file"
	case 'r', 'R':
		return "the command r reads a file"
	case '#':
		for !s.end() && s.peek() != '\n' {
			s.at++
		}
		return ""
	default:
		return sedUnread
	}
	return s.finished(c)
}

// finished wants nothing but a separator behind a command.
func (s *sedReader) finished(c byte) string {
	s.skip(" \t")
	if s.end() || strings.IndexByte("\n;}#", s.peek()) >= 0 || c == '{' || c == '}' {
		return ""
	}
	return sedUnread
}

// text skips the text of a, i and c: to the end of its lines.
func (s *sedReader) text() {
	for !s.end() && s.peek() != '\n' {
		if s.peek() == '\\' {
			s.at++
		}
		s.at++
	}
}

// address skips one address, if there is one.
func (s *sedReader) address() bool {
	switch c := s.peek(); {
	case c >= '0' && c <= '9' || c == '+' || c == '~':
		s.skip("+~0123456789")
	case c == '$':
		s.at++
	case c == '/' || c == '\\':
		if c == '\\' {
			s.at++
			c = s.peek()
		}
		s.at++
		if c == 0 || c == '\n' || c == '\\' || !s.until(c, true) {
			return false
		}
		s.skip("IM")
	}
	return true
}

// until skips to behind the next delimiter. In a bracket of a pattern it might stand for itself: such patterns are not read.
func (s *sedReader) until(d byte, pattern bool) bool {
	bracket := false
	for !s.end() {
		c := s.src[s.at]
		s.at++
		switch {
		case c == '\\':
			if s.end() || bracket {
				return false
			}
			s.at++
		case c == '\n' && pattern:
			return false
		case c == d:
			return !bracket
		case pattern && c == '[' && !bracket:
			bracket = true
			if !s.end() && s.src[s.at] == '^' {
				s.at++
			}
			if !s.end() && s.src[s.at] == ']' {
				s.at++
			}
		case c == ']' && bracket:
			bracket = false
		case bracket && c == '[':
			if !s.end() && strings.IndexByte(":.=", s.src[s.at]) >= 0 {
				end := strings.Index(s.src[s.at+1:], string(s.src[s.at])+"]")
				if end < 0 {
					return false
				}
				s.at += end + 3
			}
		}
	}
	return false
}

func (s *sedReader) substitute() string {
	d := s.peek()
	s.at++
	if d == 0 || d == '\\' || d == '\n' || !s.until(d, true) || !s.until(d, false) {
		return sedUnread
	}
	for !s.end() && strings.IndexByte("gpiImMew0123456789", s.peek()) >= 0 {
		switch s.peek() {
		case 'e':
			return "the flag e runs what it makes"
		case 'w':
			return "the flag w writes a file"
		}
		s.at++
	}
	return s.finished('s')
}

// awkSpecial are variables that decide what awk reads.
var awkSpecial = []string{"ARGV", "ARGC", "ARGIND", "ENVIRON", "PROCINFO", "FUNCTAB", "SYMTAB", "FILENAME"}

// awkWords are names with which a program does more than compute and print.
var awkWords = append([]string{"system", "getline", "close", "fflush", "nextfile", "include", "load", "extension"}, awkSpecial[:7]...)

const awkUnread = "a part of the program cannot be read with certainty"

// awkProgram says what in an awk program does more than compute and print, or what this cannot read; "" if nothing does.
func awkProgram(src string) string {
	printing, depth := false, 0
	before := "" // the token before
	at := 0
	for at < len(src) {
		c := src[at]
		switch {
		case c == ' ' || c == '\t':
			at++
			continue
		case c == '#':
			for at < len(src) && src[at] != '\n' {
				at++
			}
			continue
		case c == '\\':
			if at+1 >= len(src) || src[at+1] != '\n' {
				return awkUnread
			}
			at += 2
			continue
		case c == '"':
			n := quotedEnd(src[at:], '"')
			if n < 0 {
				return awkUnread
			}
			at += n
			before = "value"
			continue
		case c == '/':
			if before == "++" || before == "--" {
				return awkUnread // a pattern or a division
			}
			if before != "value" {
				n := quotedEnd(src[at:], '/')
				if n < 0 || openBracket(src[at:at+n]) {
					return awkUnread
				}
				at += n
				before = "value"
				continue
			}
		case c == '_' || unicode.IsLetter(rune(c)):
			end := at
			for end < len(src) && (src[end] == '_' || unicode.IsLetter(rune(src[end])) || unicode.IsDigit(rune(src[end]))) {
				end++
			}
			word := src[at:end]
			at = end
			if slices.Contains(awkWords, word) {
				return word + " does more than compute and print"
			}
			before = "value"
			if slices.Contains([]string{"print", "printf", "return", "in", "if", "while", "for", "do", "else", "BEGIN", "END", "delete", "exit", "case"}, word) {
				before = word
			}
			if word == "print" || word == "printf" {
				printing, depth = true, 0
			}
			continue
		case unicode.IsDigit(rune(c)) || c == '.' && at+1 < len(src) && unicode.IsDigit(rune(src[at+1])):
			for at < len(src) && (unicode.IsDigit(rune(src[at])) || src[at] == '.' || unicode.IsLetter(rune(src[at]))) {
				at++
			}
			before = "value"
			continue
		}
		two := src[at:min(at+2, len(src))]
		switch {
		case two == "||" || two == "&&" || two == "==" || two == "<=" || two == ">=" || two == "!=" || two == "++" || two == "--":
			if two == ">=" && printing && depth == 0 {
				return "it writes a file"
			}
			before, at = two, at+2
			continue
		case c == '|':
			return "it runs a program through a pipe"
		case c == '@':
			return "it loads or calls something by name"
		case c == '<' && printing && depth == 0, two == "<<":
			return awkUnread
		case c == '>' && printing && depth == 0:
			return "it writes a file"
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
			at++
			before = "value"
			continue
		case c == ';' || c == '}' || c == '{' || c == '\n':
			printing = false
		case strings.IndexByte("+-*/%^!<>=?:,~$&", c) >= 0:
		default:
			return awkUnread
		}
		before = string(c)
		at++
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

// jqWords are names with which a filter reaches out of its input.
var jqWords = []string{"env", "import", "include", "input_filename", "get_search_list", "modulemeta", "debug", "stderr", "halt", "halt_error", "input_line_number", "getpath_file", "$ENV", "$__prog_args"}

// jqFilter says what in a jq filter reaches out of its input. Texts are looked at like the rest: expressions can stand in them.
func jqFilter(src string) string {
	for at := 0; at < len(src); {
		c := rune(src[at])
		if !(c == '_' || c == '$' || unicode.IsLetter(c)) {
			at++
			continue
		}
		end := at + 1
		for end < len(src) && (src[end] == '_' || unicode.IsLetter(rune(src[end])) || unicode.IsDigit(rune(src[end]))) {
			end++
		}
		word := src[at:end]
		field := at > 0 && src[at-1] == '.' && word[0] != '$'
		quoted := at > 0 && src[at-1] == '"' && end < len(src) && src[end] == '"'
		if slices.Contains(jqWords, word) && !field && !quoted {
			return word + " reaches out of the input"
		}
		at = end
	}
	return ""
}
