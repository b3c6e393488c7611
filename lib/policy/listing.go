package policy

import "io/fs"

// What opening a directory takes, and reading one entry of it.
const (
	dirSteps   = 40
	entrySteps = 3
)

// listing is what a directory was found to hold.
type listing struct {
	entries []fs.DirEntry
	err     error
}

// readDir lists a directory: it is read once for a verdict, whatever asks for it how often. Each entry takes steps
// before it is used, so that the steps bound what is remembered, too.
func (e effort) readDir(on ground, dir string) ([]fs.DirEntry, error) {
	if !e.spend(1) {
		return nil, errManyNames
	}
	l, ok := e.listings[dir]
	if !ok && !e.list(dirSteps) {
		return nil, errManyNames
	}
	if !ok {
		l.entries, l.err = on.names(dir)
		if !e.list(entrySteps * len(l.entries)) {
			l = listing{err: errManyNames}
		}
		e.listings[dir] = l
	}
	return l.entries, l.err
}
