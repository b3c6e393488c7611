package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/place"
)

// maxMade bounds how many files a report names.
const maxMade = 20

// standing is what other programs obey in a workspace: repositories at any depth, and files of the table in its root.
// Of both, covers are those that an empty cover stands for.
type standing struct{ repositories, files, covers []string }

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
	for _, path := range slices.Concat(s.repositories, s.files) {
		if placeholder(path) {
			s.covers = append(s.covers, path)
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

// made is what has come since, and that no permit names. A cover is nothing that was there: who removes it from outside
// lets the program make what it covered.
func (p Place) made(before standing) []string {
	now := p.standing()
	var out []string
	add := func(path string, permitted bool) {
		if !permitted && !placeholder(path) && len(out) < maxMade {
			out = append(out, p.below(path))
		}
	}
	for _, path := range now.repositories {
		if !slices.Contains(before.repositories, path) || slices.Contains(before.covers, path) {
			add(path, p.makes(path))
		}
	}
	for _, path := range now.files {
		if !slices.Contains(before.files, path) || slices.Contains(before.covers, path) {
			add(path, p.opens(path))
		}
	}
	return out
}

// makes tells whether the call was permitted to make a repository: to write some file in its directory is not enough.
func (p Place) makes(repository string) bool {
	return p.opens(repository) && (strings.EqualFold(filepath.Base(repository), ".git") ||
		p.opens(filepath.Join(repository, "config")))
}

// below is how a report names a path: the workspace itself, if that has become a repository, is a dot.
func (p Place) below(path string) string {
	if name, ok := place.Below(p.Workspace, path); ok {
		return name
	}
	return path
}
