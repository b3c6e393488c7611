package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Build says which program this is, as --version does. What the build does not know is empty.
type Build struct {
	App     string `json:"app"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	Changed bool   `json:"changed,omitzero"` // since that commit
	Date    string `json:"date,omitzero"`
	Go      string `json:"go"`
}

// ThisBuild is the build of the program that runs.
func ThisBuild(app string) Build {
	v := Build{App: app, Version: Version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Commit, v.Date = fromModule(info.Main.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Changed = s.Value == "true"
		}
	}
	return v
}

// fromModule reads the commit and its time from the version of a module as "go install PROGRAM@COMMIT" builds it,
// without a repository: v0.1.1-0.20261122063809-5e5ba751c3a9. A tagged version names neither.
func fromModule(version string) (commit, date string) {
	version, _, _ = strings.Cut(version, "+")
	rest, commit := cutLast(version, "-")
	_, stamp := cutLast(strings.ReplaceAll(rest, ".", "-"), "-")
	at, err := time.Parse("20060102150405", stamp)
	if err != nil || len(commit) != 12 || strings.Trim(commit, "0123456789abcdef") != "" {
		return "", ""
	}
	return commit, at.Format(time.RFC3339)
}

func cutLast(s, sep string) (before, after string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):]
	}
	return s, ""
}

// Same tells whether two programs were built from the same source.
func (v Build) Same(other Build) bool {
	return v.Version == other.Version && v.Commit == other.Commit && v.Changed == other.Changed
}

// String names the version and, if it is known, the commit.
func (v Build) String() string {
	if v.Commit == "" {
		return v.Version
	}
	commit := v.Commit[:min(12, len(v.Commit))]
	if v.Changed {
		commit += ", changed since"
	}
	if v.Date != "" {
		commit += ", " + v.Date[:min(10, len(v.Date))]
	}
	return fmt.Sprintf("%s (commit %s)", v.Version, commit)
}

// WriteText implements Result.
func (v Build) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, v.App, v)
	return err
}
