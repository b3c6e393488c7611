package policy

import "strings"

// sedScript says what in a sed script does more than edit text, or what this cannot read; "" if nothing does. The files
// are those that it writes.
func sedScript(src string) (why string, files []string) {
	s := &sedReader{src: src}
	for {
		s.skip(" \t\n;")
		if s.end() {
			return s.why, s.files
		}
		if why := s.command(); why != "" {
			return why, s.files
		}
	}
}

// sedReader reads a script command by command.
type sedReader struct {
	src   string
	at    int
	files []string // that it writes
	why   string   // the first thing that is more than editing
}

// writes takes the name of a file that is written: the rest of the line.
func (s *sedReader) writes(why string) string {
	name, _, _ := strings.Cut(s.src[s.at:], "\n")
	s.files, s.at = append(s.files, strings.TrimLeft(name, " \t")), s.at+len(name)
	if s.why == "" {
		s.why = why
	}
	return ""
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

const sedUnread = "part of the script cannot be parsed"

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
		s.skip(" \t")
		// a label ends at a blank: another command may follow
		s.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
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
		return s.writes("the command w writes a file")
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

// until skips to behind the next delimiter. In a bracket of a pattern it might stand for itself: such patterns are not
// read.
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
			return "the flag e runs its result as a command"
		case 'w':
			s.at++
			return s.writes("the flag w writes a file")
		}
		s.at++
	}
	return s.finished('s')
}
