package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/terminal"
)

const (
	defaultEntries = 200
	// maxScanned bounds how many names are looked at to count them.
	maxScanned = 100_000
	maxDepth   = 64
)

// listFiles lists a directory of the workspace.
func listFiles(ctx context.Context, a card.ListArgs, env *Env) Result {
	l := listing{ctx: ctx, recursive: a.Recursive, most: defaultEntries}
	if a.MaxEntries != nil {
		l.most = *a.MaxEntries
	}
	path := "."
	if a.Path != nil && *a.Path != "" {
		path = *a.Path
	}
	w, rel, err := openFor(env, path)
	if err == nil {
		defer w.close()
		l.w = w
		err = l.path(rel)
	}
	if err != nil {
		return failed(err, "list %q: %v", path)
	}
	r := Result{Success: true}
	r.setText(l.text(), env)
	return r
}

// listing collects the lines of a list and counts what does not fit.
type listing struct {
	ctx       context.Context
	w         *workspace
	recursive bool
	most      int
	lines     []string
	scanned   int
	partial   bool // there is more than was scanned
}

func (l *listing) path(rel string) error {
	info, err := l.w.root.Stat(rel)
	if err != nil {
		return why(err)
	}
	if info.IsDir() {
		return l.dir(rel, "", 0)
	}
	if err := l.w.check(l.ctx, GuardReadDir, rel); err != nil {
		return err
	}
	l.scanned = 1
	l.lines = append(l.lines, line(info, filepath.Base(rel), ""))
	return nil
}

func (l *listing) dir(rel, prefix string, depth int) error {
	entries, err := l.entries(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		l.add(rel, prefix, e)
		if !l.recursive || !e.IsDir() || strings.EqualFold(e.Name(), ".git") {
			continue
		}
		if l.partial = l.partial || depth >= maxDepth || l.scanned >= maxScanned; l.partial {
			continue
		}
		// A directory that cannot be read does not hide the others.
		err := l.dir(filepath.Join(rel, e.Name()), prefix+e.Name()+"/", depth+1)
		if refused := (refusedError{}); err != nil && !errors.As(err, &refused) {
			l.partial = true
		}
		if err := context.Cause(l.ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) entries(rel string) ([]fs.DirEntry, error) {
	d, err := l.w.openDir(l.ctx, rel)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var all []fs.DirEntry
	for l.scanned+len(all) < maxScanned {
		some, err := d.ReadDir(4096)
		all = append(all, some...)
		if err == io.EOF {
			slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return all, nil
		}
		if err != nil {
			return nil, why(err)
		}
		if err := context.Cause(l.ctx); err != nil {
			return nil, err
		}
	}
	l.partial = true
	return all, nil
}

func (l *listing) add(rel, prefix string, e fs.DirEntry) {
	l.scanned++
	if len(l.lines) >= l.most {
		return
	}
	path := filepath.Join(rel, e.Name())
	info, err := l.w.root.Lstat(path)
	if err != nil {
		return // it is gone
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ = l.w.root.Readlink(path)
	}
	l.lines = append(l.lines, line(info, prefix+e.Name(), target))
}

func line(info fs.FileInfo, name, target string) string {
	size, mark := "-", ""
	switch {
	case info.Mode().IsRegular():
		size = strconv.FormatInt(info.Size(), 10)
	case info.IsDir():
		mark = "/"
	case target != "":
		mark = " -> " + quoteName(target)
	default:
		mark = " (" + strings.TrimSuffix(strings.TrimPrefix(regular(info).Error(), "it is a "), ", not a regular file") +
			")"
	}
	return fmt.Sprintf("%8s  %s%s", size, quoteName(name), mark)
}

func (l *listing) text() string {
	if len(l.lines) == 0 {
		return "(empty)\n"
	}
	text := strings.Join(l.lines, "\n") + "\n"
	switch more := l.scanned - len(l.lines); {
	case l.partial:
		text += fmt.Sprintf("… and at least %d more, not all were looked at\n", more)
	case more > 0:
		text += fmt.Sprintf("… and %d more\n", more)
	}
	return text
}

// quoteName shows a name on one line, so that no two names of a directory look alike.
func quoteName(name string) string { return terminal.Name(name) }
