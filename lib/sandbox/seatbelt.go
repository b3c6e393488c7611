package sandbox

import (
	"fmt"
	"strings"
)

// seatbeltProfile is the profile for sandbox-exec(1) of macOS. Paths are the real ones: Seatbelt compares what links lead to.
func seatbeltProfile(v []mount) (string, error) {
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
	// Of two rules that match, the later one decides: what is protected comes behind what it lies in.
	for _, m := range v {
		path, err := seatbeltString(m.Target)
		if err != nil {
			return "", err
		}
		filter := "(subpath " + path + ")"
		if m.IsFile {
			filter = "(literal " + path + ")"
		}
		switch m.Kind {
		case mountRead:
			fmt.Fprintf(&b, "(allow file-read* %s)\n(deny file-write* %s)\n", filter, filter)
		case mountWrite:
			fmt.Fprintf(&b, "(allow file-read* file-write* %s)\n", filter)
		case mountDir, mountNull:
			fmt.Fprintf(&b, "(deny file-read* file-write* %s)\n", filter)
		}
	}
	b.WriteString("(deny file-write-setugid)\n")
	return b.String(), nil
}

// seatbeltString quotes a path. What the profile's language could read otherwise is refused.
func seatbeltString(path string) (string, error) {
	for _, r := range path {
		if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
			return "", fmt.Errorf("%q: no such path can be named in a sandbox profile", path)
		}
	}
	return `"` + path + `"`, nil
}

// seatbeltView is what of a place a profile is about.
func seatbeltView(p Place) ([]mount, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var m []mount
	for _, r := range p.Read {
		m = append(m, mount{Kind: mountRead, Target: r})
	}
	own, err := workspace(p)
	if err != nil {
		return nil, err
	}
	m = append(m, own...)
	if p.Home != "" {
		m = append(m, mount{Kind: mountWrite, Source: p.Home, Target: p.Home})
	}
	return append(m, covers(m, p.Hidden)...), nil
}
