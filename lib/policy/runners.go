package policy

import (
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// runner judges a program that runs the command in its arguments.
type runner func(j *judge, argv []value, s *state, depth int) finding

// runnerOf is the rule in Go that judges a program, if one does.
func runnerOf(name string) (runner, bool) {
	p, ok := programs.Find(name)
	if !ok || p.Rule == "" {
		return nil, false
	}
	rule, ok := ruleOf(p)
	if !ok {
		return opaqueRunner, true
	}
	return rule, true
}

// ruleOf is the rule that the description of a program names.
func ruleOf(p *programs.Program) (runner, bool) {
	switch p.Rule {
	case "any-code":
		return anyCodeRunner, true
	case "command":
		return commandRunner, true
	case "env":
		return envRunner, true
	case "find":
		return findRunner, true
	case "git":
		return gitRunner, true
	case "go":
		return goRunner, true
	case "opaque":
		return opaqueRunner, true
	case "timed":
		return timed(wrapped(p)), true
	case "wrapped":
		return wrapped(p), true
	case "xargs":
		return xargsRunner, true
	}
	return nil, false
}

func opaqueRunner(j *judge, argv []value, s *state, _ int) finding {
	return stricter(opaque("%+q runs its arguments", bounded(argv[0].text)), j.anyPaths(argv[1:], s))
}

// wrapped judges a wrapper: its options with and without values, then so many operands of its own, then the command.
func wrapped(p *programs.Program) runner {
	return func(j *judge, argv []value, s *state, depth int) finding {
		j.note(argv[0].text)
		rest := argv[1:]
		for len(rest) > 0 {
			if !rest[0].known {
				return unknownYet("an argument of %s", argv[0].text)
			}
			w := rest[0].text
			name, _, glued := strings.Cut(w, "=")
			known, is := p.Option(name)
			switch {
			case w == "--":
				rest = rest[1:]
			case is && known.Value == glued, gluedValue(p, w):
				rest = rest[1:]
				continue
			case is && !glued:
				rest = rest[min(2, len(rest)):]
				continue
			case strings.HasPrefix(w, "-"):
				return stricter(unknownOption(argv[0].text, w), j.anyPaths(rest, s))
			}
			break
		}
		for _, v := range rest[:min(p.Wraps, len(rest))] {
			if f := j.operand(v, programs.Number, s); f.rank() > 1 {
				return f
			}
		}
		rest = rest[min(p.Wraps, len(rest)):]
		if len(rest) == 0 {
			return opaque("%s has no command to run", argv[0].text)
		}
		return j.wrappedRun(rest, s, depth)
	}
}

// timed judges a wrapper that ends what it runs, unless its time is zero, which means no end.
func timed(inner runner) runner {
	return func(j *judge, argv []value, s *state, depth int) finding {
		was := j.timed
		j.timed = !slices.ContainsFunc(argv[1:min(len(argv), 6)],
			func(v value) bool { return !v.known || strings.Trim(v.text, "+-0.smhd") == "" })
		defer func() { j.timed = was }()
		return inner(j, argv, s, depth)
	}
}

// wrappedRun judges a wrapped command. A wrapper starts programs: a builtin of the same name is not what runs.
func (j *judge) wrappedRun(argv []value, s *state, depth int) finding {
	if !argv[0].known {
		return unknownYet("the command it runs")
	}
	name := argv[0].text
	if _, isBuiltin := builtins[name]; isBuiltin &&
		!slices.Contains([]string{"echo", "true", "false", "pwd", "printf", "test", "["}, name) {
		return stricter(high("command.unlisted", "%+q is not on the allowlist", bounded(name)), j.anyPaths(argv[1:], s))
	}
	return j.run(argv, s, depth+1)
}

// gluedValue tells whether a word is a short option of a program with its value behind it.
func gluedValue(p *programs.Program, w string) bool {
	if len(w) < 3 || w[0] != '-' || w[1] == '-' {
		return false
	}
	known, ok := p.Option(w[:2])
	return ok && known.Value
}

// shortValue tells whether a word is a short option of the list with its value behind it.
func shortValue(w string, takes []string) bool {
	return len(w) > 2 && w[0] == '-' && w[1] != '-' && slices.Contains(takes, w[:2])
}

func commandRunner(j *judge, argv []value, s *state, depth int) finding {
	rest := argv[1:]
	if len(rest) > 0 && rest[0].known && (rest[0].text == "-v" || rest[0].text == "-V") {
		return lookUp(j, rest[1:], s)
	}
	if len(rest) > 0 && rest[0].known && rest[0].text == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 || !rest[0].known || strings.HasPrefix(rest[0].text, "-") {
		return opaque("command: unknown option")
	}
	return j.run(rest, s, depth)
}

func envRunner(j *judge, argv []value, s *state, depth int) finding {
	j.note("env")
	f, rest := understood, argv[1:]
	for len(rest) > 0 {
		if !rest[0].known {
			return unknownYet("an argument of env")
		}
		name, text, assigns := strings.Cut(rest[0].text, "=")
		if rest[0].text == "--" {
			rest = rest[1:]
			continue
		}
		if dir, ok := strings.CutPrefix(rest[0].text, "-C"); ok || name == "--chdir" {
			if name == "--chdir" {
				dir = text
			}
			if rest = rest[1:]; dir == "" && len(rest) > 0 {
				dir, rest = rest[0].text, rest[1:]
			}
			f = stricter(f, stricter(opaque("env changes the directory"), onlyBlocked(j.path(dir, reading, s))))
			s = j.fork(s)
			for i, d := range s.dirs {
				s.dirs[i], _ = j.on.enter(d, dir)
			}
			continue
		}
		if strings.HasPrefix(name, "-") {
			return stricter(unknownOption("env", rest[0].text), j.anyPaths(rest, s))
		}
		if !assigns {
			break
		}
		f, rest = stricter(f, environment(name, value{text: text, known: true}, "")), rest[1:]
	}
	if len(rest) == 0 {
		return stricter(f, high("shell.environment", "env shows all variables"))
	}
	return stricter(f, j.wrappedRun(rest, s, depth))
}

// xargsRunner judges xargs: what it adds to the command is only known at run time, so the command must be one that does
// no harm with any words.
func xargsRunner(j *judge, argv []value, s *state, depth int) finding {
	j.note("xargs")
	rest := argv[1:]
	replace, apart := "", " \t\n\"'\\"
	for len(rest) > 0 {
		if !rest[0].known {
			return unknownYet("an argument of xargs")
		}
		w := rest[0].text
		switch {
		case w == "--":
			rest = rest[1:]
		case w == "-0" || w == "-r" || w == "-t" || w == "-x" || w == "--null" || w == "--no-run-if-empty" ||
			w == "-0r" || w == "-r0":
			if w == "--null" || strings.Contains(w, "0") {
				apart = ""
			}
			rest = rest[1:]
			continue
		case w == "-d" && len(rest) > 1 && (rest[1].text == "\n" || rest[1].text == `\n`):
			apart, rest = "\n", rest[2:]
			continue
		case w == "-n" || w == "-P" || w == "-L" || w == "-d":
			rest = rest[min(2, len(rest)):]
			continue
		case w == "-I" && len(rest) > 1 && rest[1].known:
			replace, rest = rest[1].text, rest[2:]
			continue
		case shortValue(w, []string{"-n", "-P", "-L", "-d"}):
			rest = rest[1:]
			continue
		case strings.HasPrefix(w, "-"):
			return stricter(unknownOption("xargs", w), j.everyPath(rest, s, writing))
		}
		break
	}
	if len(rest) == 0 {
		return medium("command.allowlist", "runs xargs, which prints its input")
	}
	f := stricter(j.withAnyWords(rest, s, depth, replace),
		medium("command.allowlist", "runs a program with arguments from its input"))
	if s.found != nil && (f.rank() < 2 || s.lost) && !programs.Is(rest[0].text, programs.Prints) {
		if f = stricter(f, j.links(*s.found, s)); apart != "" || !s.found.zero {
			f = stricter(f, j.lines(*s.found, apart, s))
		}
	}
	if !s.named && f.rank() < 2 && !programs.Is(rest[0].text, programs.Prints) {
		return high("command.words", "the input of xargs is not a list of workspace files")
	}
	return f
}

// withAnyWords judges a command that gets words which nobody knows yet: names from a list.
func (j *judge) withAnyWords(argv []value, s *state, depth int, replace string) finding {
	if !argv[0].known {
		return unknownYet("the command it runs")
	}
	name := argv[0].text
	if replace != "" {
		kept := []value{}
		for i, v := range argv {
			if !v.known || strings.Contains(v.text, replace) {
				if i == 0 {
					return unknownYet("the command it runs")
				}
				continue
			}
			kept = append(kept, v)
		}
		argv = kept
	}
	f := j.wrappedRun(argv, s, depth)
	if f.rank() < 2 && !programs.Is(name, programs.AnyWords) {
		f = high("command.words",
			"arguments of %+q are only known at run time, and with some of them it could do more than read",
			bounded(name))
		return stricter(f, j.everyPath(argv[1:], s, writing))
	}
	return f
}
