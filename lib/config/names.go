package config

import "strings"

// The checks of names are written out: compiling regular expressions would be a third of every program's start.

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// made reports whether a name of at most that length begins with one of the first bytes and continues with the
// others.
func made(name string, most int, first, others string) bool {
	if name == "" || len(name) > most || strings.IndexByte(first, name[0]) < 0 {
		return false
	}
	for i := range len(name) {
		if strings.IndexByte(others, name[i]) < 0 {
			return false
		}
	}
	return true
}

func isAgent(id string) bool { return made(id, 64, lower+digits, lower+digits+"_-") }

func isName(name string) bool { return made(name, 64, lower+digits+"_", lower+digits+"_.-") }

func isVariable(name string) bool {
	return made(name, 256, upper+lower+"_", upper+lower+digits+"_")
}

func isCommand(name string) bool {
	return made(name, 256, upper+lower+digits+"_.+[", upper+lower+digits+"_.+[-")
}

// isDomain accepts a host name in lower case (RFC 1123), or one behind "*.".
func isDomain(name string) bool {
	name = strings.TrimPrefix(name, "*.")
	if len(name) > 253 {
		return false
	}
	for _, label := range strings.Split(name, ".") {
		if !made(label, 63, lower+digits, lower+digits+"-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	return true
}
