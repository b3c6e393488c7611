package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// program says what the words of a program mean. It is data: see programs.go.
type program struct {
	name string
	// options are those that are understood, separated by blanks: -a (no value), -n=number, -o=write, -f=read, -e=text,
	// --color?=text (a value only behind =), --all. An option that is not here is high.
	options string
	// digits tells that a number may stand for an option (-20).
	digits bool
	// operands says what the words are that are no options, in order; the last one is for all others, too. With last, it is
	// what the last operand is.
	operands []kind
	last     kind
	hasLast  bool
	most     int // how many operands there may be; 0 is any
	// check looks at what the table cannot say. It gets the words as they were taken apart.
	check func(j *judge, p *parsed, s *state) finding
	// match are commands that the rule takes for medium, notMatch ones that it does not.
	match, notMatch []string
}

// parsed are the words of a program, taken apart.
type parsed struct {
	name     string
	options  []givenOption
	operands []value
}

type givenOption struct {
	name  string // -n or --name, in full
	value value
	has   bool
}

// get returns the values of an option.
func (p *parsed) get(names ...string) []value {
	var out []value
	for _, o := range p.options {
		for _, n := range names {
			if o.name == n {
				out = append(out, o.value)
			}
		}
	}
	return out
}

func (p *parsed) has(names ...string) bool { return len(p.get(names...)) > 0 }

// rules are a program's options by name, in the form that is looked up.
type rules struct {
	*program
	takes map[string]optionRule
	long  []string
}

type optionRule struct {
	takes, glued bool // a value; only behind =
	never        bool // it is known, so that abbreviations are told apart, and refused
	kind         kind
}

var kinds = map[string]kind{"text": kindText, "number": kindNumber, "read": kindRead, "tree": kindTree, "write": kindWrite}

// compiled are the rules of all programs. They are taken apart when the first is needed: most calls need none.
var compiled = sync.OnceValue(func() map[string]*rules {
	out := map[string]*rules{}
	for i := range programs {
		r := newRules(&programs[i])
		for _, name := range strings.Fields(programs[i].name) {
			out[name] = r
		}
	}
	return out
})

// newRules takes the options of a program apart.
func newRules(p *program) *rules {
	r := &rules{program: p, takes: map[string]optionRule{}}
	for _, word := range strings.Fields(p.options) {
		name, what, takes := strings.Cut(word, "=")
		name, glued := strings.CutSuffix(name, "?")
		r.takes[name] = optionRule{takes: takes, glued: glued, kind: kinds[what], never: what == "never"}
		if strings.HasPrefix(name, "--") {
			r.long = append(r.long, name)
		}
	}
	return r
}

func modelled(name string) (*rules, bool) {
	r, ok := compiled()[name]
	return r, ok
}

// judge judges a program by its words.
func (r *rules) judge(j *judge, argv []value, s *state) finding {
	name := argv[0].text
	p, f := r.parse(argv)
	p.name = name
	if f.rank() > 1 {
		return stricter(f, j.everyPath(argv[1:], s, toWrite(r.hasLast || slices.Contains(r.operands, kindWrite))))
	}
	for _, o := range p.options {
		if of := j.operand(o.value, r.takes[o.name].kind, s); o.has && of.rank() > 0 {
			f = stricter(f, prefixed(of, fmt.Sprintf("%s %s", name, o.name)))
		}
	}
	for i, v := range p.operands {
		if j.ended(f) {
			break
		}
		f = stricter(f, prefixed(j.operand(v, r.kindOf(i, len(p.operands)), s), name))
	}
	if r.most > 0 && len(p.operands) > r.most {
		f = stricter(f, opaque("%s has too many arguments", name))
	}
	if r.check != nil && f.rank() < 3 {
		f = stricter(f, r.check(j, p, s))
	}
	return stricter(f, onList(name, p))
}

// prefixed says which option or program a finding is about.
func prefixed(f finding, what string) finding {
	if f.rank() > 1 && !f.part {
		f.reason = what + ": " + f.reason
	}
	return f
}

func (r *rules) kindOf(i, n int) kind {
	if r.hasLast && i == n-1 && (n > 1 || len(r.operands) == 0) {
		return r.last
	}
	if len(r.operands) == 0 {
		return kindRead
	}
	return r.operands[min(i, len(r.operands)-1)]
}

// parse takes the words apart as getopt_long(3) does: options anywhere, in clusters, abbreviated, up to --.
func (r *rules) parse(argv []value) (*parsed, finding) {
	p := &parsed{}
	unknownOption := func(w string) finding {
		return high("command.option", "%s: unknown option %+q", argv[0].text, bounded(w))
	}
	for i := 1; i < len(argv); i++ {
		v := argv[i]
		w := v.text
		switch {
		case !v.known && v.number, v.known && (w == "-" || !strings.HasPrefix(w, "-")):
			p.operands = append(p.operands, v)
		case !v.known:
			if !r.takesText() {
				return p, opaque("an argument of %s is only known at run time", argv[0].text)
			}
			p.operands = append(p.operands, v)
		case w == "--":
			p.operands = append(p.operands, argv[i+1:]...)
			return p, understood
		case r.digits && isNumber(w[1:]):
		case strings.HasPrefix(w, "--"):
			name, text, glued := strings.Cut(w, "=")
			full, ok := r.full(name)
			rule := r.takes[full]
			if !ok || rule.never || glued && !rule.takes {
				return p, unknownOption(w)
			}
			o := givenOption{name: full}
			if rule.takes && (glued || !rule.glued) {
				o.has, o.value = true, value{text: text, known: true}
				if !glued {
					if i++; i == len(argv) {
						return p, unknownOption(w)
					}
					o.value = argv[i]
				}
			}
			p.options = append(p.options, o)
		default:
			n, ok := r.cluster(p, w, argv[i+1:])
			if !ok {
				return p, unknownOption(w)
			}
			i += n
		}
	}
	return p, understood
}

// cluster takes apart short options that are written together, and tells how many of the words behind are values.
func (r *rules) cluster(p *parsed, w string, rest []value) (int, bool) {
	if rule, ok := r.takes[w]; ok && len(w) > 2 { // a long name with one dash, as find and go have them
		if !rule.takes {
			p.options = append(p.options, givenOption{name: w})
			return 0, true
		}
		if len(rest) == 0 {
			return 0, false
		}
		p.options = append(p.options, givenOption{name: w, has: true, value: rest[0]})
		return 1, true
	}
	for k := 1; k < len(w); k++ {
		name := "-" + w[k:k+1]
		rule, ok := r.takes[name]
		if !ok {
			return 0, false
		}
		o := givenOption{name: name}
		if !rule.takes {
			p.options = append(p.options, o)
			continue
		}
		o.has, o.value = true, value{text: w[k+1:], known: true}
		switch {
		case k+1 < len(w):
			p.options = append(p.options, o)
			return 0, true
		case rule.glued:
			o.has = false
			p.options = append(p.options, o)
			return 0, true
		case len(rest) == 0:
			return 0, false
		}
		o.value = rest[0]
		p.options = append(p.options, o)
		return 1, true
	}
	return 0, true
}

// full finds the long option that a name means, also abbreviated. Where several begin so, the program refuses it.
func (r *rules) full(name string) (string, bool) {
	if _, ok := r.takes[name]; ok {
		return name, true
	}
	found := ""
	for _, l := range r.long {
		if strings.HasPrefix(l, name) {
			if found != "" {
				return "", false
			}
			found = l
		}
	}
	return found, found != "" && len(name) > 2
}

// takesText tells that all words of the program are mere text.
func (r *rules) takesText() bool {
	return len(r.operands) == 1 && r.operands[0] == kindText && !r.hasLast && r.check == nil
}

// CheckPrograms holds every entry of the table of programs to its examples. It is not done when the table is loaded, which
// is at the start of every gate, but by the tests and by clawsh config validate.
func CheckPrograms() error {
	p := &Policy{workspace: "/workspace", root: "/workspace", workspaceOnly: true, sandbox: "auto", fs: nowhere{}}
	for _, prog := range programs {
		p.commands = append(p.commands, strings.Fields(prog.name)...)
	}
	p.commands = append(p.commands, "wc", "xargs", "timeout")
	var errs []error
	for _, prog := range programs {
		for _, example := range prog.match {
			if f := p.script(example, effortFor(context.Background())); f.rank() > 1 {
				errs = append(errs, fmt.Errorf("programs: %s: %q is to be medium, is %s: %s", prog.name, example, f.risk, f.reason))
			}
		}
		for _, example := range prog.notMatch {
			if f := p.script(example, effortFor(context.Background())); f.rank() < 2 {
				errs = append(errs, fmt.Errorf("programs: %s: %q is to be high, is %s", prog.name, example, f.risk))
			}
		}
	}
	return errors.Join(errs...)
}

// nowhere resolves paths on a machine without links and files.
type nowhere struct{}

// EvalSymlinks implements Resolver.
func (nowhere) EvalSymlinks(path string) (string, error) { return path, nil }

// ReadDir finds nothing.
func (nowhere) ReadDir(string) ([]fs.DirEntry, error) { return nil, nil }
