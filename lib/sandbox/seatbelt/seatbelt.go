// Package seatbelt writes profiles for sandbox-exec(1) of macOS. Only the engine for macOS links it; it is a package of
// its own so that its tests run on every system.
package seatbelt

import (
	"fmt"
	"strings"
)

// Access is what a rule permits.
type Access int

// Accesses.
const (
	None Access = iota
	Read
	Write // and reading
)

// Rule is what may be done with a path and everything below it. What is protected comes after what it lies in.
type Rule struct {
	Access Access
	Path   string
	IsFile bool // there is nothing below it
}

// Profile is the profile for sandbox-exec(1). Paths are the real ones: Seatbelt compares what links lead to.
func Profile(rules []Rule) (string, error) {
	var b strings.Builder
	b.WriteString(`(version 1)
(deny default)
(import "system.sb")
(allow process-fork)
(allow process-exec)
(allow signal (target same-sandbox))
(allow sysctl-read)
(deny network*)
(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.pasteboard.1"))
(allow file-read-metadata)
(allow file-read* (literal "/") (subpath "/bin") (subpath "/sbin") (subpath "/usr") (subpath "/System") (subpath "/Library/Developer")
  (subpath "/private/var/db/timezone") (subpath "/private/var/select") (literal "/private/etc/localtime") (literal "/dev/urandom") (literal "/dev/random"))
(allow file-read* file-write* (literal "/dev/null") (literal "/dev/zero"))
`)
	// Of two rules that match, the later one decides.
	for _, r := range rules {
		path, err := quote(r.Path)
		if err != nil {
			return "", err
		}
		filter := "(subpath " + path + ")"
		if r.IsFile {
			filter = "(literal " + path + ")"
		}
		switch r.Access {
		case Read:
			fmt.Fprintf(&b, "(allow file-read* %s)\n(deny file-write* %s)\n", filter, filter)
		case Write:
			fmt.Fprintf(&b, "(allow file-read* file-write* %s)\n", filter)
		default:
			fmt.Fprintf(&b, "(deny file-read* file-write* %s)\n", filter)
		}
	}
	b.WriteString("(deny file-write-setugid)\n")
	return b.String(), nil
}

// quote quotes a path. What the profile's language could read otherwise is refused.
func quote(path string) (string, error) {
	for _, r := range path {
		if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
			return "", fmt.Errorf("%q: a sandbox profile cannot contain such a path", path)
		}
	}
	return `"` + path + `"`, nil
}
