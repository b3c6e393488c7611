package secret

import "bytes"

const none = -1

// count tells how many letters of each case and digits there are.
func count(b []byte) (upper, lower, digit int) {
	for _, c := range b {
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digit++
		}
	}
	return upper, lower, digit
}

// mixedOrDigits is what a random text has, and words with hyphens have not.
func mixedOrDigits(b []byte) bool {
	upper, lower, digit := count(b)
	return digit >= 4 || digit > 0 && upper > 1 && lower > 1
}

func digits(least int) func([]byte) bool {
	return func(b []byte) bool { _, _, d := count(b); return d >= least }
}

func twoParts(b []byte) bool {
	dot := bytes.IndexByte(b, '.')
	return dot >= 16 && dot <= 32 && mixedOrDigits(b)
}

// skip passes over bytes in the class, at most most. more means that more of them may follow the text.
func skip(text []byte, i int, c *class, most int, final bool) (int, bool) {
	n, more := run(text[i:], c, most, final)
	return i + n, more
}

var (
	assignClass = set("\"' \t:=>\\")
	spaceClass  = set(" \t\r\n")
	letterClass = set("a-zA-Z")
)

// assigned finds least bytes of base64 behind a name and a sign such as = or ":".
func assigned(least int) func([]byte, int, int, bool) (int, int, bool) {
	return func(text []byte, _, at int, final bool) (int, int, bool) {
		i, more := skip(text, at, &wordClass, 64, final)
		if more {
			return 0, none, true
		}
		from, more := skip(text, i, &assignClass, 16, final)
		if more || from == i {
			return 0, none, more
		}
		n, more := run(text[from:], &base64Class, least, final)
		if more || n < least {
			return 0, none, more
		}
		return from, from + n, false
	}
}

// webToken finds a header and a payload, both of base64 that begins like a JSON object.
func webToken(text []byte, _, at int, final bool) (int, int, bool) {
	const most = 2048
	n, more := run(text[at:], &tokenClass, most, final)
	if more || n < 10 || n == most {
		return 0, none, more
	}
	rest := text[at+n:]
	if mark := ".eyJ"; len(rest) < len(mark) {
		return 0, none, !final && bytes.HasPrefix([]byte(mark), rest)
	} else if string(rest[:len(mark)]) != mark {
		return 0, none, false
	}
	return at, at + n + 4, false
}

var schemes = []string{"bearer", "basic", "token", "apikey"}

// authorization finds the credentials of a header, in whatever notation.
func authorization(text []byte, _, at int, final bool) (int, int, bool) {
	i, more := skip(text, at+len("authorization"), &assignClass, 12, final)
	if more || i == at+len("authorization") {
		return 0, none, more
	}
	scheme, more := skip(text, i, &letterClass, 12, final)
	if more {
		return 0, none, true
	}
	known := false
	for _, s := range schemes {
		known = known || bytes.EqualFold(text[i:scheme], []byte(s))
	}
	from, more := skip(text, scheme, &spaceClass, 4, final)
	if more || !known || from == scheme {
		return 0, none, more
	}
	n, more := run(text[from:], &headerClass, 8, final)
	if more || n < 8 {
		return 0, none, more
	}
	return from, from + n, false
}

var (
	userClass     = set("a-zA-Z0-9._%+~\x2d")
	passwordClass = func() class {
		c := set("!-~")
		for _, b := range []byte("/@:\"'<>[]\\`") {
			c[b>>6] &^= 1 << (b & 63)
		}
		return c
	}()
)

// urlPassword finds the password in scheme://user:password@host.
func urlPassword(text []byte, _, at int, final bool) (int, int, bool) {
	i, more := skip(text, at+3, &userClass, 100, final)
	if more || i == len(text) || text[i] != ':' {
		return 0, none, more
	}
	from := i + 1
	to, more := skip(text, from, &passwordClass, 200, final)
	if more || to == len(text) || to == from || text[to] != '@' || bytes.IndexByte([]byte("${*"), text[from]) >= 0 {
		return 0, none, more
	}
	return from, to, false
}

// telegram finds the secret that follows a number and a colon, as in Telegram's tokens.
func telegram(text []byte, low, at int, final bool) (int, int, bool) {
	n := 0
	for at-n-1 >= low && n < 11 && text[at-n-1] >= '0' && text[at-n-1] <= '9' {
		n++
	}
	if n < 8 || n > 10 {
		return 0, none, false
	}
	size, more := run(text[at+1:], &tokenClass, 35, final)
	if more || size < 35 {
		return 0, none, more
	}
	return at + 1, at + 1 + size, false
}

// netrc finds the password in the entry of a machine, whose name has a dot.
func netrc(text []byte, _, at int, final bool) (int, int, bool) {
	i := at + len("machine")
	previous := ""
	for field := range 8 {
		from, more := blanks(text, i, final)
		if more || from == i {
			return 0, none, more
		}
		to, more := skip(text, from, &plainClass, 128, final)
		if more || to == from {
			return 0, none, more
		}
		word := string(text[from:to])
		if field == 0 && word != "localhost" && !bytes.Contains(text[from:to], []byte(".")) {
			return 0, none, false
		}
		if previous == "password" {
			return from, to, false
		}
		previous, i = word, to
	}
	return 0, none, false
}

// blanks passes over white space, written as it is or as in JSON.
func blanks(text []byte, i int, final bool) (int, bool) {
	for range 32 {
		switch {
		case i < len(text) && spaceClass.has(text[i]):
			i++
		case i == len(text) || text[i] == '\\' && i+1 == len(text):
			return i, !final
		case text[i] == '\\' && (text[i+1] == 'n' || text[i+1] == 't' || text[i+1] == 'r'):
			i += 2
		default:
			return i, false
		}
	}
	return i, false
}

// ownKey finds the content of a private key file of ours.
func ownKey(text []byte, _, at int, final bool) (int, int, bool) {
	label, more := skip(text, at, &tokenClass, 60, final)
	if more || !bytes.Contains(text[at:label], []byte("-key-v")) {
		return 0, none, more
	}
	from, more := skip(text, label, &spaceClass, 1, final)
	if more || from == label {
		return 0, none, more
	}
	n, more := run(text[from:], &base64Class, 40, final)
	if more || n < 40 {
		return 0, none, more
	}
	return from, from + n, false
}

var (
	labelClass = set("A-Z0-9 ")
	blockClass = set("a-zA-Z0-9+/=:,._>|# \t\r\n()")
	endMark    = "-----END "
)

const (
	maxLabel   = 60
	maxPreface = 400
	minBody    = 24
)

// keyBlock finds the beginning of a private key: the first line, perhaps headers, and base64.
func keyBlock(text []byte, _, at int, final bool) (int, int, bool) {
	i, more := skip(text, at+len("-----BEGIN "), &labelClass, maxLabel, final)
	if more || !bytes.Contains(text[at:i], []byte("PRIVATE KEY")) {
		return 0, none, more
	}
	for n := 0; n < 5; n, i = n+1, i+1 {
		if i == len(text) {
			return 0, none, !final
		}
		if text[i] != '-' {
			return 0, none, false
		}
	}
	body := 0
	for from := i; i < from+maxPreface; {
		if i == len(text) {
			return 0, none, !final
		}
		n, more := blockByte(text[i:], final)
		if more || n == 0 {
			return 0, none, more
		}
		if body++; n > 1 || !base64Class.has(text[i]) {
			body = 0
		}
		if i += n; body == minBody {
			return at, i, false
		}
	}
	return 0, none, false
}

// blockByte tells how many bytes at the beginning of a text are one character of a key block; 0 if they are none.
func blockByte(text []byte, final bool) (n int, more bool) {
	switch c := text[0]; {
	case blockClass.has(c):
		return 1, false
	case c == '-':
		if len(text) >= 2 && text[1] == '-' {
			return 0, false
		}
		return 1, len(text) < 2 && !final
	case c != '\\':
		return 0, false
	}
	for n < len(text) && n < 8 && text[n] == '\\' {
		n++
	}
	if n == len(text) {
		return 0, !final
	}
	if text[n] == 'n' || text[n] == 'r' || text[n] == 't' {
		return n + 1, false
	}
	return 0, false
}

// blockFollows eats a key block. Its end line is the last of it.
func (s *Stream) blockFollows(rest []byte, final bool) (int, bool) {
	if rest[0] != '-' || len(rest) >= 2 && rest[1] != '-' {
		return blockByte(rest, final)
	}
	if len(rest) < len(endMark) {
		return 0, !final && endMark[:len(rest)] == string(rest)
	}
	if string(rest[:len(endMark)]) != endMark {
		return 0, false
	}
	n, more := run(rest[len(endMark):], &labelClass, maxLabel, final)
	if more {
		return 0, true
	}
	n += len(endMark)
	for range 5 {
		if n == len(rest) && !final {
			return 0, true
		}
		if n < len(rest) && rest[n] == '-' {
			n++
		}
	}
	s.ends, s.class = false, nil
	return n, false
}
