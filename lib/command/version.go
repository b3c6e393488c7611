package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
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
	return fmt.Sprintf("%s (commit %s, %s)", v.Version, commit, v.Date[:min(10, len(v.Date))])
}

// WriteText implements Result.
func (v Build) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, v.App, v)
	return err
}
