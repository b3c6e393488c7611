package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/obeyed"
	"clawsh/lib/place"
)

// Bounds of the search for repositories below the workspace: names that are looked at, breadth first, and
// directories in each other. What lies beyond is not protected.
const (
	gitDepth   = 24
	gitEntries = 30_000
	gitMost    = 1000 // repositories: with more, no program runs
)

// ground protects what other programs of the user obey, in the parts of the workspace that m lets a program write:
// every repository that is found, with the way to it, and in the root each file of the table.
func ground(p Place, m []mount) ([]mount, error) {
	roots := writableRoots(p, m)
	if len(roots) == 0 {
		return nil, nil
	}
	found := p.found
	if found == nil {
		found = repositories(p.Workspace)
	}
	if len(found) > gitMost {
		return nil, fmt.Errorf("the workspace holds more than %d repositories, which cannot be protected", gitMost)
	}
	var guards []mount
	for _, git := range found {
		guards = append(guards, guardGit(git, p.GitWrite)...)
	}
	for _, root := range roots {
		guards = append(guards, present(p, root)...)
	}
	guards = slices.DeleteFunc(guards, func(g mount) bool { return g.Target == p.Workspace && g.Kind == mountWrite })
	return append(guards, ways(roots, guards)...), nil
}

// writableRoots are the directories of the workspace below which a program may write.
func writableRoots(p Place, m []mount) []string {
	var out []string
	for _, have := range m {
		if have.Kind == mountWrite && place.Within(p.Workspace, have.Target) {
			out = append(out, have.Target)
		}
	}
	return out
}

// ways makes a mount of each directory between a root and what is protected in it: a mount cannot be renamed or
// removed, so that nothing else can take the place of what is protected.
func ways(roots []string, guards []mount) []mount {
	var out []mount
	have := map[string]bool{}
	for _, g := range guards {
		have[g.Target] = true
	}
	for _, g := range guards {
		for _, root := range roots {
			if !place.Within(root, g.Target) || g.Target == root {
				continue
			}
			for dir := filepath.Dir(g.Target); dir != root && !have[dir]; dir = filepath.Dir(dir) {
				have[dir] = true
				out = append(out, mount{Kind: mountWrite, Source: dir, Target: dir})
			}
		}
	}
	return out
}

// guardGit protects a repository. Where it may be written, what lets git run programs is still read-only, and the
// directory itself cannot be renamed, since it is a mount.
func guardGit(git string, write bool) []mount {
	info, err := os.Lstat(git)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	if !write || !info.IsDir() || placeholder(git) {
		return []mount{{Kind: mountRead, Source: git, Target: git, IsFile: !info.IsDir()}}
	}
	m := []mount{{Kind: mountWrite, Source: git, Target: git}}
	for _, name := range []string{"hooks", "config", "config.worktree", "modules", "worktrees", "commondir"} {
		if g, ok := readOnly(filepath.Join(git, name)); ok {
			m = append(m, g)
		}
	}
	return m
}

// readOnly is the mount that protects a file or a directory that is there.
func readOnly(path string) (mount, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return mount{}, false
	}
	return mount{Kind: mountRead, Source: path, Target: path, IsFile: !info.IsDir()}, true
}

// present protects the files of the table that are in a directory.
func present(p Place, root string) []mount {
	var out []mount
	for _, name := range obeyedIn(root) {
		if path := filepath.Join(root, name); !p.opens(path) {
			if g, ok := readOnly(path); ok {
				out = append(out, g)
			}
		}
	}
	return out
}

// obeyedIn are the names in a directory that are in the table, but for repositories, and of those with a slash in
// them the ones that are there.
func obeyedIn(dir string) []string {
	var out []string
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(gitEntries)
	for _, e := range entries {
		if _, ok := obeyed.Match(e.Name()); ok && !strings.EqualFold(e.Name(), ".git") {
			out = append(out, e.Name())
		}
	}
	for _, name := range obeyed.Nested() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// opens tells whether the call was permitted to write a file, or one in it.
func (p Place) opens(path string) bool {
	return slices.ContainsFunc(p.Obeyed, func(o string) bool {
		if !filepath.IsAbs(o) {
			o = filepath.Join(p.Workspace, o)
		}
		return place.Within(path, o) || place.Within(o, path)
	})
}

// tracked tells whether a directory has a repository of its own.
func tracked(dir string) bool {
	git := filepath.Join(dir, ".git")
	_, err := os.Lstat(git)
	return err == nil && !placeholder(git)
}

// coverable are the names of the table that a program is to be kept from making, in each writable root that is no
// repository, and in each repository that it may write.
func coverable(p Place, m []mount) []string {
	var out []string
	for _, root := range writableRoots(p, m) {
		switch {
		case strings.EqualFold(filepath.Base(root), ".git"):
			out = append(out, filepath.Join(root, "hooks"))
		case tracked(root): // what is in it needs no HEAD to be a repository, and git takes the name for a commit
		case root == p.Workspace, p.Layout == Staged && filepath.Dir(root) == p.Workspace:
			for _, name := range obeyed.Covered() {
				out = append(out, filepath.Join(root, name))
			}
		}
	}
	return out
}

// repositories finds the repositories of the workspace and of the directories below it, bare ones too, as deep and
// as many as the bounds let it.
func repositories(workspace string) []string {
	var found []string
	if obeyed.Repository(workspace) {
		return []string{workspace}
	}
	seen := 0
	for level, depth := []string{workspace}, 0; len(level) > 0 && depth < gitDepth && seen < gitEntries; depth++ {
		var next []string
		for _, dir := range level {
			git, below, n := look(dir, gitEntries-seen)
			found, next, seen = append(found, git...), append(next, below...), seen+n
		}
		level = next
	}
	return found
}

// look lists one directory: the repositories in it, and the directories to look into.
func look(dir string, most int) (found, below []string, seen int) {
	d, err := os.Open(dir)
	if err != nil || most <= 0 {
		return nil, nil, 0
	}
	defer d.Close()
	entries, _ := d.ReadDir(most)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.EqualFold(e.Name(), ".git"):
			found = append(found, path)
		case e.IsDir():
			below = append(below, path)
		case e.Name() == "HEAD" && obeyed.Repository(dir):
			return []string{dir}, nil, len(entries)
		}
	}
	return found, below, len(entries)
}
