package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stranger is something in the home that clawsh has not put there, and does not use.
type Stranger struct {
	Path string
	Link string // where it leads, if it is a link
}

// Strangers returns the entries of the home that clawsh did not create.
func Strangers(home string) []Stranger {
	names, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	var list []Stranger
	for _, d := range names {
		if belongs(d.Name()) {
			continue
		}
		s := Stranger{Path: filepath.Join(home, d.Name())}
		if d.Type()&fs.ModeSymlink != 0 {
			s.Link, _ = os.Readlink(s.Path)
		}
		list = append(list, s)
	}
	return list
}

// belongs tells whether a name is one that clawsh gives, also for what it writes beside a file.
func belongs(name string) bool {
	if name == "ESTOP" || strings.HasPrefix(name, ".") &&
		(strings.Contains(name, ".tmp-") || strings.HasPrefix(name, ".clawsh-")) {
		return true
	}
	// -wal, .d, .foreign, a copy that somebody kept
	for _, whole := range []string{"memory.sqlite", ReceiptsName, "audit.jsonl", "config.toml"} {
		if strings.HasPrefix(name, whole) {
			return true
		}
	}
	return slices.ContainsFunc(entries, func(e entry) bool { return e.name == name })
}
