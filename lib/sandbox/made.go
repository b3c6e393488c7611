package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxMade bounds how many files a report names.
const maxMade = 20

// standing is what other programs obey in a workspace: repositories at any depth, and files of the table in its root.
type standing struct{ repositories, files []string }

// standing looks before a program runs that may write.
func (p Place) standing() standing {
	if p.ReadOnly {
		return standing{}
	}
	s := standing{repositories: append([]string{}, repositories(p.Workspace)...)}
	for _, root := range p.roots() {
		for _, name := range obeyedIn(root) {
			s.files = append(s.files, filepath.Join(root, name))
		}
	}
	return s
}

// roots are the directories that a person enters: the workspace, and the stages in it.
func (p Place) roots() []string {
	out := []string{p.Workspace}
	if p.Layout != Staged {
		return out
	}
	entries, _ := os.ReadDir(p.Workspace)
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(p.Workspace, e.Name()))
		}
	}
	return out
}

// made is what has come since, and that no permit names.
func (p Place) made(before standing) []string {
	now := p.standing()
	var out []string
	for _, path := range append(now.repositories, now.files...) {
		known := slices.Contains(before.repositories, path) || slices.Contains(before.files, path)
		if known || p.opens(path) || placeholder(path) || len(out) == maxMade {
			continue
		}
		out = append(out, strings.TrimPrefix(strings.TrimPrefix(path, p.Workspace), "/"))
	}
	return out
}
