package secret

import "strings"

// secretName tells whether a variable of this name holds a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	if strings.Contains(name, "PUBLIC") {
		return false
	}
	for _, end := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "CREDENTIAL",
		"CREDENTIALS", "_PAT", "_PWD"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// secretValue tells whether a value is worth keeping: not a path, an address, a number or an ordinary word, which would
// garble every text.
func secretValue(v string) bool {
	if len(v) < minEncodedBytes || len(v) > maxValueBytes || strings.Contains(v, "://") ||
		strings.Contains(v, "[withheld:") {
		return false
	}
	var lower, upper, digit, other, distinct int
	var seen [256]bool
	for i := range len(v) {
		switch c := v[i]; {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= '0' && c <= '9':
			digit++
		default:
			other++
		}
		if !seen[v[i]] {
			seen[v[i]] = true
			distinct++
		}
	}
	mixed := lower > 0 && upper > 0 && digit > 0
	switch {
	case distinct < 5:
		return false
	case strings.ContainsRune("/~.", rune(v[0])) && strings.Contains(v, "/") && !mixed:
		return false // a path
	case lower+upper == 0 && len(v) < 12:
		return false // a number or a date
	case digit == 0 && len(v) < 20 && (upper <= 1 || lower == 0) && other < 2:
		return false // a word or two
	}
	return true
}

func trim(value string) string {
	value = strings.TrimSpace(value)
	for _, q := range []string{`"`, `'`} {
		if len(value) > 2 && strings.HasPrefix(value, q) && strings.HasSuffix(value, q) {
			return value[1 : len(value)-1]
		}
	}
	return value
}

// plainName makes a name safe for notes and for Export.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name[:min(len(name), 64)])
}

// noted tells whether a value is a part of our own notes, which would be replaced again and again.
func noted(name, value string) bool {
	if strings.Contains(noteHead+"value of "+plainName(name)+noteTail, value) {
		return true
	}
	for _, s := range shapes() {
		if strings.Contains(noteHead+s.kind+noteTail, value) {
			return true
		}
	}
	return false
}
