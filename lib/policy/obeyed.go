package policy

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/obeyed"
	"clawsh/lib/place"
)

// ruleObeyed is about files that other programs of the user obey: writing one is a way out of the sandbox.
const ruleObeyed = "path.obeyed"

// maxObeyed bounds how many files one question is about. What is beyond is refused when it runs.
const maxObeyed = 8

// obeyed judges writing a file that other programs obey. What the way to the workspace is called does not count.
func (p *Policy) obeyed(name, abs string, a access, workspaces []string) (finding, bool) {
	if a == reading {
		return finding{}, false
	}
	rel := below(abs, workspaces...)
	row, ok := obeyed.Match(rel)
	if ok && slices.Contains(row.Names, ".git") {
		return finding{}, false // that has rules of its own
	}
	if repository, _ := p.repositoryOf(abs); !ok && repository != "" && filepath.Base(repository) != ".git" {
		row, ok = obeyed.Row{Program: "git", Why: "it is in a bare repository, which only git may write"}, true
	}
	if !ok && p.completes(abs) {
		row, ok = obeyed.Row{Program: "git",
			Why: "together with the existing HEAD, it turns its directory into a repository"}, true
	}
	if !ok {
		return finding{}, false
	}
	return heeded(name, row, rel), true
}

// below is a path relative to the workspace, if it lies in it.
func below(abs string, workspaces ...string) string {
	for _, w := range workspaces {
		if name, ok := place.Below(w, abs); ok && name != "." {
			return name
		}
	}
	return abs
}

// heeded is the finding about a file of a row.
func heeded(name string, row obeyed.Row, places ...string) finding {
	f := high(ruleObeyed, "%s would obey %+q: %s", row.Program, bounded(name), row.Why)
	f.obeyed = places
	return f
}

// completes tells whether something is made that, with the HEAD that is there, makes a repository of a directory.
func (p *Policy) completes(abs string) bool {
	if _, ok := p.fs.(OS); !ok {
		return false
	}
	for at := abs; at != "/"; at = filepath.Dir(at) {
		dir := filepath.Dir(at)
		switch filepath.Base(at) {
		case "objects", "refs", "commondir":
			if obeyed.Head(dir) {
				return true
			}
		}
		if !place.Within(p.root, dir) {
			break
		}
	}
	return false
}

// repositoryOf is the bare repository that a path is or lies in, "" if in none, and whether the path is what git
// runs programs by. A repository's working files are not in its directory.
func (p *Policy) repositoryOf(abs string) (repository string, runs bool) {
	if _, ok := p.fs.(OS); !ok {
		return "", false
	}
	if obeyed.Repository(abs) {
		return abs, true
	}
	for dir, child := filepath.Dir(abs), filepath.Base(abs); ; dir, child = filepath.Dir(dir), filepath.Base(dir) {
		if obeyed.Repository(dir) {
			return dir, gitRuns(strings.ToLower(child))
		}
		if dir == filepath.Dir(dir) || !place.Within(p.root, dir) {
			return "", false
		}
	}
}

// inRepository tells whether a path is a bare repository, or in one what git runs programs by.
func (p *Policy) inRepository(abs string) bool {
	_, runs := p.repositoryOf(abs)
	return runs
}

// brought judges places that something is moved, copied or linked to: a directory brings all that lies in it. However
// many places there are, it is walked through once.
func (j *judge) brought(from string, s *state, places ...string) finding {
	f := understood
	for _, to := range places {
		row, ok := obeyed.Brings(to)
		if _, whole := obeyed.Match(to); ok && !whole && !slices.Contains(row.Names, ".git") {
			f = stricter(f, heeded(to, row, j.named(to, s)...))
		}
	}
	left := 10 * treeEntries
	tooMuch := func() finding {
		return opaque("%+q is too large to examine: name its directories, one per call", bounded(from))
	}
	var walk func(dir, rel string, depth int)
	walk = func(dir, rel string, depth int) {
		entries, err := j.readDir(j.on, dir)
		if errors.Is(err, errManyNames) {
			f = stricter(f, tooMuch())
		}
		for _, e := range entries {
			if left--; left < 0 || depth > treeDepth || !j.spend(1) {
				f = stricter(f, tooMuch())
			}
			if left < 0 || depth > treeDepth || j.ended(f) {
				return
			}
			in := filepath.Join(rel, e.Name())
			if heeds := j.bring(e.Name(), in, places, s); heeds.rank() > understood.rank() {
				f = stricter(f, heeds)
			} else if e.IsDir() {
				walk(filepath.Join(dir, e.Name()), in, depth+1)
			}
		}
	}
	for _, d := range j.absolute(from, s) {
		if j.ended(f) {
			break
		}
		walk(d, "", 0)
	}
	return f
}

// bring is the finding about one name below what is brought to some places: whether other programs obey it in any of
// them.
func (j *judge) bring(last, in string, places []string, s *state) finding {
	f := understood
	for _, to := range places {
		into := filepath.Join(to, in)
		if row, ok := j.matches(into, last); ok {
			f = stricter(f, heeded(into, row, j.named(into, s)...))
		}
	}
	return f
}

// matches is obeyed.Match for a path whose directory has been looked at: only where a name of the table ends like it,
// the whole is looked up, which takes steps.
func (j *judge) matches(path, last string) (obeyed.Row, bool) {
	if !obeyed.Ends(last) || !j.spend(60) {
		return obeyed.Row{}, false
	}
	return obeyed.Match(path)
}

// newRepository is the finding about git init and git clone: the last of their words names the directory, if any does.
func (j *judge) newRepository(sub string, args []value, s *state) finding {
	dir := "."
	for _, v := range args {
		if !v.known || !strings.HasPrefix(v.text, "-") {
			dir = v.text
		}
	}
	if sub == "clone" {
		dir = strings.TrimSuffix(filepath.Base(dir), ".git")
	}
	f := high(ruleObeyed, "git %s creates a repository, and git would obey its hooks and settings", sub)
	f.obeyed = j.named(filepath.Join(dir, ".git"), s)
	return f
}

// absolute are the places that a word may mean.
func (j *judge) absolute(text string, s *state) []string {
	if filepath.IsAbs(text) {
		return []string{filepath.Clean(text)}
	}
	var out []string
	for _, d := range s.dirs {
		out = append(out, filepath.Join(d, text))
	}
	return out
}

// named are the places that a word may mean, as a permit names them.
func (j *judge) named(text string, s *state) []string {
	out := j.absolute(text, s)
	for i, place := range out {
		out[i] = j.on.called(place)
	}
	return out
}

// joined is both lists, without what lies in another place of them.
func joined(a, b []string) []string {
	out := slices.Clone(a)
	for _, place := range b {
		if !among(place, out) && len(out) < maxObeyed {
			out = append(out, place)
		}
	}
	return out
}

// among tells whether a path is, or lies in, one of several. Those in the workspace are relative to it.
func among(path string, places []string) bool {
	return slices.ContainsFunc(places, func(dir string) bool {
		return path == dir || dir != "." && filepath.IsAbs(path) == filepath.IsAbs(dir) &&
			place.Within(filepath.Join("/", dir), filepath.Join("/", path))
	})
}

// foreseen tells whether a permit is for all files that a finding is about.
func (p Permitted) foreseen(f finding) bool {
	return !slices.ContainsFunc(f.obeyed, func(place string) bool { return !among(place, p.Obeyed) })
}
