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
			return "", fmt.Errorf("%q: a sandbox profile cannot contain such a path", path)
		}
	}
	return `"` + path + `"`, nil
}
