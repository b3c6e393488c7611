package policy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// model judges a program by its options and operands.
type model struct{ *programs.Program }

// parsed are the words of a program, taken apart.
type parsed struct {
	name     string
	options  []givenOption
	operands []value
}

type givenOption struct {
	name  string // -n or --name, in full
	value value
	kind  programs.Kind // of the value
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

// modelled is what is known of a program, if it is enough to judge it.
func modelled(name string) (model, bool) {
	p, ok := programs.Find(name)
	return model{p}, ok && p.How == programs.Modelled
}

// judge judges a program by its words.
func (m model) judge(j *judge, argv []value, s *state) finding {
	name := argv[0].text
	p, f := m.parse(argv)
	p.name = name
	if f.rank() > 1 {
		return stricter(f, j.everyPath(argv[1:], s, toWrite(m.HasLast || slices.Contains(m.Operands, programs.Write))))
	}
	for _, o := range p.options {
		if of := j.operand(o.value, o.kind, s); o.has && of.rank() > 0 {
			f = stricter(f, prefixed(of, fmt.Sprintf("%s %s", name, o.name)))
		}
	}
	for i, v := range p.operands {
		if j.ended(f) {
			break
		}
		f = stricter(f, prefixed(j.operand(v, m.kindOf(i, len(p.operands)), s), name))
	}
	if m.Most > 0 && len(p.operands) > m.Most {
		f = stricter(f, opaque("%s has too many arguments", name))
	}
	if m.Check != "" && f.rank() < 3 {
		check, _ := checkOf(m.Check)
		f = stricter(f, check(j, p, s))
	}
	return stricter(f, m.onList(name))
}

// prefixed says which option or program a finding is about.
func prefixed(f finding, what string) finding {
	if f.rank() > 1 && !f.part {
		f.reason = what + ": " + f.reason
	}
	return f
}

func (m model) kindOf(i, n int) programs.Kind {
	if m.HasLast && i == n-1 && (n > 1 || len(m.Operands) == 0) {
		return m.Last
	}
	if len(m.Operands) == 0 {
		return programs.Read
	}
	return m.Operands[min(i, len(m.Operands)-1)]
}

// parse takes the words apart as getopt_long(3) does: options anywhere, in clusters, abbreviated, up to --.
func (m model) parse(argv []value) (*parsed, finding) {
	p := &parsed{}
	refused := func(w string) finding {
		f := unknownOption(argv[0].text, w)
		f.rule = "command.option"
		return f
	}
	for i := 1; i < len(argv); i++ {
		v := argv[i]
		w := v.text
		switch {
		case !v.known && v.number, v.known && (w == "-" || !strings.HasPrefix(w, "-")):
			p.operands = append(p.operands, v)
		case !v.known:
			if !m.takesText() {
				return p, unknownYet("an argument of %s", argv[0].text)
			}
			p.operands = append(p.operands, v)
		case w == "--":
			p.operands = append(p.operands, argv[i+1:]...)
			return p, understood
		case m.Digits && isNumber(w[1:]):
		case strings.HasPrefix(w, "--"):
			name, text, glued := strings.Cut(w, "=")
			full, ok := m.Full(name)
			known, _ := m.Option(full)
			if !ok || known.Never || glued && !known.Value {
				return p, refused(w)
			}
			o := givenOption{name: full, kind: known.Kind}
			if known.Value && (glued || !known.Glued) {
				o.has, o.value = true, value{text: text, known: true}
				if !glued {
					if i++; i == len(argv) {
						return p, refused(w)
					}
					o.value = argv[i]
				}
			}
			p.options = append(p.options, o)
		default:
			n, ok := m.cluster(p, w, argv[i+1:])
			if !ok {
				return p, refused(w)
			}
			i += n
		}
	}
	return p, understood
}

// cluster takes apart short options that are written together, and tells how many of the words after it are values.
func (m model) cluster(p *parsed, w string, rest []value) (int, bool) {
	if known, ok := m.Option(w); ok && len(w) > 2 { // a long name with one dash, as find and go have them
		if !known.Value {
			p.options = append(p.options, givenOption{name: w})
			return 0, true
		}
		if len(rest) == 0 {
			return 0, false
		}
		p.options = append(p.options, givenOption{name: w, kind: known.Kind, has: true, value: rest[0]})
		return 1, true
	}
	for k := 1; k < len(w); k++ {
		name := "-" + w[k:k+1]
		known, ok := m.Option(name)
		if !ok {
			return 0, false
		}
		o := givenOption{name: name, kind: known.Kind}
		if !known.Value {
			p.options = append(p.options, o)
			continue
		}
		o.has, o.value = true, value{text: w[k+1:], known: true}
		switch {
		case k+1 < len(w):
			p.options = append(p.options, o)
			return 0, true
		case known.Glued:
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

// takesText tells that all words of the program are mere text.
func (m model) takesText() bool {
	return len(m.Operands) == 1 && m.Operands[0] == programs.Text && !m.HasLast && m.Check == ""
}

// CheckPrograms holds what is known of each program to its examples. It is not done by the gate, but by the tests and
// by clawsh config validate.
func CheckPrograms() error {
	p := &Policy{workspace: "/workspace", root: "/workspace", workspaceOnly: true, sandbox: "auto", fs: nowhere{}}
	all := programs.All()
	for _, known := range all {
		if known.How == programs.Modelled || slices.Contains([]string{"wrapped", "timed", "xargs"}, known.Rule) {
			p.commands = append(p.commands, known.Names...)
		}
	}
	var errs []error
	for _, known := range all {
		for _, example := range known.Match {
			if f := p.script(example, effortFor(context.Background())); f.rank() > 1 {
				errs = append(errs, fmt.Errorf("programs: %s: %q is to be medium, is %s: %s", known.Names[0], example,
					f.risk, f.reason))
			}
		}
		for _, example := range known.NotMatch {
			if f := p.script(example, effortFor(context.Background())); f.rank() < 2 {
				errs = append(errs, fmt.Errorf("programs: %s: %q is to be high, is %s", known.Names[0], example,
					f.risk))
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
