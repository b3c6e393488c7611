package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"clawsh/lib/result"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// searchShare is the part of the tool's time that a search takes: then it says what it has found so far.
const searchShare = 0.7

// lookAfter is how many bytes are searched between two looks at the time: a byte may take a while.
const lookAfter = 4 << 10

// search is one search under way.
type search struct {
	ctx     context.Context
	env     *Env
	w       *workspace
	pattern *regexp.Regexp
	glob    *regexp.Regexp
	deep    bool // the glob is for paths, not only for names
	top     string
	most    int
	around  int
	until   time.Time

	out      strings.Builder
	matches  int
	files    int
	bytes    int64
	binary   int
	refused  int
	withheld int
	stopped  string // why it ended before the end
}

// start searches a path, or the result of an earlier call.
func (s *search) start(path string) error {
	s.until = time.Now().Add(time.Duration(searchShare * float64(seconds(s.env.Config.Limits.ToolTimeoutS))))
	if id, ok := strings.CutPrefix(path, result.Prefix); ok {
		f, err := s.env.Results.Open(s.env.ConversationID, id)
		if err != nil {
			return err
		}
		defer f.Close()
		s.files++
		return s.lines(f, path)
	}
	w, rel, err := openFor(s.env, path)
	if err != nil {
		return err
	}
	defer w.close()
	s.w = w
	return s.path(rel)
}

// path searches a file, or all that is below a directory.
func (s *search) path(rel string) error {
	info, err := s.w.root.Stat(rel)
	if err != nil {
		return why(err)
	}
	if !info.IsDir() {
		return s.file(rel)
	}
	s.top = rel
	var outer ignores
	dir := "."
	for _, name := range strings.Split(filepath.ToSlash(filepath.Dir(rel)), "/") {
		if rel != "." && s.w.base == "" {
			dir = path.Join(dir, name)
			outer = s.w.withIgnore(s.ctx, outer, dir)
		}
	}
	return s.dir(rel, outer, 0)
}

// dir searches a directory, in the order of names.
func (s *search) dir(rel string, rules ignores, depth int) error {
	entries, err := s.names(rel)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ignoreName }) {
		rules = s.w.withIgnore(s.ctx, rules, rel)
	}
	for _, e := range entries {
		if s.done() {
			return nil
		}
		at := path.Join(rel, e.Name())
		switch {
		case strings.EqualFold(e.Name(), ".git"), !e.IsDir() && !e.Type().IsRegular(),
			rules.match(at, e.IsDir(), s.done):
		case e.IsDir() && depth >= maxDepth:
			s.stopped = fmt.Sprintf("directories more than %d deep were not searched", maxDepth)
		case e.IsDir():
			if err := s.dir(at, rules, depth+1); err != nil {
				s.refused++ // what cannot be read does not hide the rest
			}
		case s.wanted(at):
			if err := s.file(at); err != nil {
				s.refused++
			}
		}
	}
	return nil
}

func (s *search) names(rel string) ([]fs.DirEntry, error) {
	d, err := s.w.openDir(s.ctx, rel)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxScanned)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, why(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// wanted tells whether the glob takes a file.
func (s *search) wanted(at string) bool {
	switch {
	case s.glob == nil:
		return true
	case !s.deep:
		return s.glob.MatchString(path.Base(at))
	}
	below := strings.TrimPrefix(strings.TrimPrefix(at, s.top), "/")
	return s.glob.MatchString(at) || s.glob.MatchString(below)
}

// done tells whether the search has to end, and notes why.
func (s *search) done() bool {
	switch {
	case s.stopped != "" && !strings.HasPrefix(s.stopped, "directories"):
	case s.ctx.Err() != nil && !errors.As(context.Cause(s.ctx), new(timeoutError)):
		s.stopped = "cancelled"
	case s.matches >= s.most:
		s.stopped = fmt.Sprintf("stopped at %s: narrow pattern, path or glob, or raise limit (at most %d)",
			spelling.Count(s.matches, "match"), maxMatches)
	case s.out.Len() > s.env.Config.Limits.MaxOutputBytes-2*noteBytes:
		s.stopped = fmt.Sprintf("stopped at %s, which fill the output: narrow pattern, path or glob",
			spelling.Count(s.matches, "match"))
	case s.files >= maxSearched:
		s.stopped = fmt.Sprintf("stopped after %s: name a path", spelling.Count(s.files, "file"))
	case s.bytes >= maxSearchBytes:
		s.stopped = fmt.Sprintf("stopped after %d MiB: name a path", s.bytes>>20)
	case s.ctx.Err() != nil, time.Now().After(s.until):
		s.stopped = fmt.Sprintf("stopped for time after %s: name a path", spelling.Count(s.files, "file"))
	default:
		return false
	}
	return true
}

// file searches one file. One that holds a NUL near its beginning is binary.
func (s *search) file(rel string) error {
	f, info, err := s.w.openRead(s.ctx, rel)
	if err != nil {
		return err
	}
	defer f.Close()
	s.files++
	if info.Size() == 0 {
		return nil
	}
	head := make([]byte, 8000)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return why(err)
	}
	if bytes.IndexByte(head[:n], 0) >= 0 {
		s.binary++
		return nil
	}
	return s.lines(f, quoteName(s.w.name(rel)))
}

// lines prints the lines of a file that match, and those around them.
func (s *search) lines(f *os.File, name string) error {
	clean := newCleanReader(f, s.env.Secrets)
	l := newLineReader(clean, maxSearchLine)
	var before []string
	last, after := 0, 0 // the last line that was printed; how many are to come behind a match
	looked := int64(0)  // how far it was when the time was looked at
	for n := 1; ; n++ {
		ok, err := l.next()
		if err != nil || !ok {
			s.bytes += l.read
			s.withheld += clean.clean.Counts().Total()
			return err
		}
		loc := s.pattern.FindIndex(bytes.TrimSuffix(l.line, []byte("\r")))
		switch {
		case loc != nil:
			if last > 0 && s.around > 0 && n-len(before) > last+1 {
				s.out.WriteString("--\n")
			}
			for i, text := range before {
				s.print(name, n-len(before)+i, '-', text)
			}
			s.print(name, n, ':', around(l.line, loc))
			s.matches++
			before, last, after = before[:0], n, s.around
			if s.done() {
				s.bytes += l.read
				return nil
			}
		case after > 0:
			s.print(name, n, '-', around(l.line, nil))
			last, after = n, after-1
		case s.around > 0:
			if before = append(before, around(l.line, nil)); len(before) > s.around {
				before = before[1:]
			}
		}
		if l.read-looked >= lookAfter {
			if looked = l.read; s.hurried(l.read) {
				return nil
			}
		}
	}
}

// hurried is done in the middle of a file.
func (s *search) hurried(read int64) bool {
	s.bytes += read
	over := s.done()
	if !over {
		s.bytes -= read
	}
	return over
}

func (s *search) print(name string, n int, mark byte, text string) {
	fmt.Fprintf(&s.out, "%s%c%d%c %s\n", name, mark, n, mark, text)
}

// around is the part of a line that is shown: with its match, if it is long.
func around(line []byte, loc []int) string {
	from, to := 0, len(line)
	if to > maxMatchBytes {
		if loc != nil && loc[1] > maxMatchBytes {
			from = max(loc[0]-maxMatchBytes/4, 0)
		}
		to = min(from+maxMatchBytes, to)
	}
	text := terminal.Sanitize(strings.Trim(strings.ToValidUTF8(string(line[from:to]), ""), "\r\n"))
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

func (s *search) text() string {
	if s.matches == 0 {
		s.out.WriteString(fmt.Sprintf("no match in %s\n", spelling.Count(s.files, "file")))
	}
	var notes []string
	if s.stopped != "" {
		notes = append(notes, s.stopped)
	}
	if s.binary > 0 {
		notes = append(notes, fmt.Sprintf("%s skipped", spelling.Count(s.binary, "binary file")))
	}
	if s.refused > 0 {
		notes = append(notes, fmt.Sprintf("%s could not be read", spelling.Count(s.refused, "place")))
	}
	if len(notes) > 0 {
		s.out.WriteString("[" + strings.Join(notes, "; ") + "]\n")
	}
	return s.out.String()
}
