package policy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/place"
)

// found are the names that a program finds while it runs, and gives to another one.
type found struct {
	roots []string
	names []*regexp.Regexp // which their last parts match, all of them
	links bool             // links may be among them
	zero  bool             // a NUL ends each
	dash  bool             // a name may begin with a dash
	sure  bool             // no test is left out here: what matches is found
}

// findNames are the names that the words of a find select, up to one that runs something.
func findNames(argv []value) (found, bool) {
	n := found{links: true, sure: true}
	i := 1
	for ; i < len(argv) && argv[i].known &&
		(argv[i].text == "-P" || argv[i].text == "--" || findLevel(argv[i].text)); i++ {
	}
	for ; i < len(argv); i++ {
		w := argv[i]
		if !w.known {
			return n, false
		}
		if strings.HasPrefix(w.text, "-") || w.text == "!" || w.text == "(" {
			break
		}
		n.roots = append(n.roots, w.text)
	}
	if len(n.roots) == 0 {
		n.roots = []string{"."}
	}
	all := !slices.ContainsFunc(argv,
		func(v value) bool { return slices.Contains([]string{"-o", "-or", "!", "-not", ","}, v.text) })
	for ; i < len(argv); i++ {
		n.zero = n.zero || argv[i].text == "-print0"
		i += n.test(argv[i:], all)
	}
	return n, true
}

// test takes one test of find in, and tells how many values it has.
func (n *found) test(argv []value, all bool) int {
	word, v := argv[0].text, value{}
	if len(argv) > 1 {
		v = argv[1]
	}
	switch {
	case word == "-print" || word == "-print0":
	case !all || !v.known:
		n.sure = false
	case word == "-name" || word == "-iname":
		re, err := pattern.Regexp(v.text, pattern.EntireString)
		if word == "-iname" && err == nil {
			re = "(?i)" + re
		}
		compiled, err2 := regexp.Compile(re)
		if err != nil || err2 != nil {
			n.sure = false
			break
		}
		n.names = append(n.names, compiled)
	case word == "-type":
		n.links = n.links && strings.Contains(v.text, "l")
	default:
		n.sure = false
	}
	return findValues(word)
}

func (n found) selects(name string) bool {
	return !slices.ContainsFunc(n.names, func(re *regexp.Regexp) bool { return !re.MatchString(name) })
}

// links judges a program that follows the links among the names that it is given: one that leads out is as one that is
// named.
func (j *judge) links(n found, s *state) finding {
	if !n.links {
		return understood
	}
	f := understood
	more := j.below(n, s, func(path string, e fs.DirEntry) bool {
		if e.Type()&fs.ModeSymlink == 0 || !n.selects(e.Name()) {
			return true
		}
		at := j.on.pathFrom(j.on.top(), path, reading)
		if at.blocked && !n.sure {
			at = high("path.found", "it may find %+q, a link out of the workspace: add -type f", bounded(path))
		}
		f = stricter(f, at)
		return !f.blocked
	})
	return stricter(f, more)
}

// lines judges names that are taken from a list by its lines or blanks: one that holds these is several.
func (j *judge) lines(n found, apart string, s *state) finding {
	f := understood
	more := j.below(n, s, func(path string, e fs.DirEntry) bool {
		name := e.Name()
		if strings.ContainsAny(name, apart) || n.dash && strings.HasPrefix(name, "-") {
			f = high("path.found", "xargs would misread the name %+q: use find -print0 | xargs -0", bounded(name))
		}
		return f.rank() < 2
	})
	return stricter(f, more)
}

// below visits what is below the places where a search begins; the finding says what could not be looked through.
func (j *judge) below(n found, s *state, visit func(path string, e fs.DirEntry) bool) finding {
	f, left := understood, foundEntries
	if s.lost || len(s.dirs) == 0 { // what is found where it may be looking counts nevertheless
		f = opaque("the places it searches are only known at run time")
	}
	var walk func(dir string, depth int) bool
	walk = func(dir string, depth int) bool {
		entries, err := j.readDir(j.on, dir)
		if err != nil && !place.Absent(err) && !errors.Is(err, fs.ErrPermission) {
			f = opaque("%+q is too large to examine: name a smaller directory", bounded(dir))
			return false
		}
		for _, e := range entries {
			if left--; left < 0 || depth > treeDepth || !j.spend(4) {
				f = opaque("%+q is too large to examine: add -type f, or -print0 and xargs -0", bounded(dir))
				return false
			}
			path := dir + "/" + e.Name()
			if !visit(path, e) || e.IsDir() && !walk(path, depth+1) {
				return false
			}
		}
		return true
	}
	for _, d := range s.dirs {
		for _, root := range n.roots {
			if !filepath.IsAbs(root) {
				root = filepath.Join(d, root)
			}
			if !walk(root, 0) {
				return f
			}
		}
	}
	return f
}

// foundEntries is how many names a search is followed through.
const foundEntries = 20000

// maxPipe is how many parts of a pipe a list of names is followed through.
const maxPipe = 16

// lists tells which names a part of a pipe writes, one a line: those of find or grep -l, and what only chooses among
// their lines. nil is anything else: git's index, too, which can hold any name.
func (j *judge) lists(st *syntax.Stmt, s *state, most int) *found {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && most > 0 {
		call, ok := b.Y.Cmd.(*syntax.CallExpr)
		if !ok || len(b.Y.Redirs) > 0 || !slices.Contains([]string{"sort", "uniq", "head", "tail", "grep"},
			j.wordsOf(call).name()) {
			return nil
		}
		n := j.lists(b.X, s, most-1)
		if n != nil {
			n.sure = false
		}
		return n
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(st.Redirs) > 0 && st.Redirs[0].Op == syntax.RdrIn {
		return nil
	}
	var argv []value
	for _, w := range call.Args {
		vs, _ := j.become(w, s, understood)
		argv = append(argv, vs...)
	}
	if len(argv) == 0 || !argv[0].known {
		return nil
	}
	return listedBy(argv)
}

func listedBy(argv []value) *found {
	words := texts(argv)
	switch words[0] {
	case "find":
		n, ok := findNames(argv)
		if !ok || slices.ContainsFunc(words, func(w string) bool {
			return w == "-lname" || w == "-xtype" || w == "-ls" || w == "-exec" || strings.Contains(w, "printf")
		}) {
			return nil
		}
		return &n
	case "grep":
		lists := slices.ContainsFunc(words[1:], func(w string) bool {
			return w == "--files-with-matches" || len(w) > 1 && w[0] == '-' && w[1] != '-' &&
				strings.ContainsAny(w, "lL")
		})
		if lists { // it opens no links that it comes across, and those that it is given are judged
			return &found{roots: []string{"."}, dash: true}
		}
	}
	return nil
}
