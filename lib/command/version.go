package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// versionResult says which program this is. What the build does not know is empty.
type versionResult struct {
	App     string `json:"app"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitzero"`
	Changed bool   `json:"changed,omitzero"` // since that commit
	Date    string `json:"date,omitzero"`
	Go      string `json:"go"`
}

func newVersion(app string) versionResult {
	v := versionResult{App: app, Version: Version, Go: runtime.Version()}
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

// WriteText implements Result.
func (v versionResult) WriteText(w io.Writer) error {
	text := v.App + " " + v.Version
	if v.Commit != "" {
		commit := v.Commit[:min(12, len(v.Commit))]
		if v.Changed {
			commit += ", changed since"
		}
		text += fmt.Sprintf(" (commit %s, %s)", commit, v.Date[:min(10, len(v.Date))])
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
