package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// builtin judges a builtin of the shell by its words.
type builtin func(j *judge, args []value, s *state) finding

// builtins are those of the shell that no allowlist is asked for: they do what is in their words, or nothing.
var builtins map[string]builtin

func init() {
	nothing := func(*judge, []value, *state) finding { return understood }
	builtins = map[string]builtin{
		":": nothing, "true": nothing, "false": nothing, "exit": nothing, "return": nothing, "break": nothing,
		"continue": nothing, "pwd": nothing,
		"echo": nothing, "cd": changeDir, "test": testBuiltin, "[": testBuiltin, "printf": printfBuiltin,
		"read": readBuiltin, "set": setBuiltin,
		"type": lookUp, "unset": unsetBuiltin, "shift": nothing,
	}
	for _, name := range []string{"pushd", "popd", "dirs", "eval", "source", ".", "trap", "alias", "unalias", "exec",
		"builtin", "shopt", "enable", "hash", "bind", "complete",
		"compgen", "mapfile", "readarray", "getopts", "wait", "jobs", "fg", "bg", "kill", "ulimit", "umask", "history",
		"fc", "times", "suspend", "logout", "disown", "caller",
		"export", "declare", "typeset", "local", "readonly", "nameref", "let", "help", "coproc", "select"} {
		builtins[name] = notUnderstood(name)
	}
}

func notUnderstood(name string) builtin {
	return func(j *judge, args []value, s *state) finding {
		if slices.Contains([]string{"pushd", "popd", "eval", "source", ".", "trap"}, name) {
			s.lost = true
		}
		f := opaque("%s can change the shell or other processes, or run its arguments", name)
		for name == "eval" && len(args) > 0 && args[0].text == "--" {
			args = args[1:]
		}
		if name == "eval" && !slices.ContainsFunc(args, func(v value) bool { return !v.known }) {
			f = stricter(f, j.nestedScript(strings.Join(texts(args), " "), s))
		}
		return stricter(f, j.anyPaths(args, s))
	}
}

// changeDir judges cd, and follows it.
func changeDir(j *judge, args []value, s *state) finding {
	for len(args) > 0 && args[0].known && (args[0].text == "-P" || args[0].text == "-L" || args[0].text == "--") {
		args = args[1:]
	}
	if len(args) == 0 {
		return blocked("path.outside", "cd without a directory leaves the workspace")
	}
	if len(args) > 1 || !args[0].known || args[0].text == "-" || args[0].text == "" {
		s.lost = true
		return unknownYet("the directory of cd")
	}
	f := j.operand(args[0], programs.Read, s)
	if f.blocked {
		return f
	}
	var to []string
	certain := !s.lost
	for _, d := range s.dirs {
		path, there := j.on.enter(d, args[0].text)
		to, certain = append(to, path), certain && there
	}
	if s.lost && filepath.IsAbs(args[0].text) {
		to, s.lost = []string{filepath.Clean(args[0].text)}, !certain
	}
	if certain {
		s.dirs = to
	} else { // cd may fail, and the script go on where it was
		s.merge(&state{dirs: to, lost: s.lost, vars: s.vars})
	}
	s.moved = to
	return f
}

// testBuiltin judges test: names of files are looked at, and names of variables, which can be evaluated, are not given.
func testBuiltin(j *judge, args []value, s *state) finding {
	f := understood
	for i, v := range args {
		if !v.known {
			continue
		}
		switch v.text {
		case "-v", "-R", "-o", "-t":
			if v.text != "-o" {
				f = stricter(f, opaque("test %s examines a variable or descriptor by name", v.text))
			}
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			// A single [ takes numbers alone, and says so else.
		case "-nt", "-ot", "-ef":
			if i > 0 {
				f = stricter(f, j.operand(args[i-1], programs.Read, s))
			}
			fallthrough
		case "-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h", "-p", "-S", "-b", "-c", "-g", "-u", "-k", "-O", "-G",
			"-N", "-a":
			if i+1 < len(args) && args[i+1].text != "]" {
				f = stricter(f, j.operand(args[i+1], programs.Read, s))
			}
		}
	}
	return f
}

func printfBuiltin(_ *judge, args []value, _ *state) finding {
	if len(args) > 0 && (!args[0].known || strings.HasPrefix(args[0].text, "-") && args[0].text != "--" &&
		!strings.HasPrefix(args[0].text, "- ") && !strings.HasPrefix(args[0].text, "-\\") &&
		!strings.HasPrefix(args[0].text, "--")) {
		return opaque("printf may get an option that sets a variable")
	}
	return understood
}

// readBuiltin judges read, which sets variables.
func readBuiltin(_ *judge, args []value, s *state) finding {
	f := understood
	for i := 0; i < len(args); i++ {
		v := args[i]
		switch {
		case !v.known:
			return unknownYet("a variable name of read")
		case v.text == "-r":
		case v.text == "-n" || v.text == "-d":
			i++
		case strings.HasPrefix(v.text, "-"):
			return unknownOption("read", v.text)
		default:
			f = stricter(f, variable(v.text))
			s.set(v.text, unknown)
		}
	}
	return f
}

func unsetBuiltin(_ *judge, args []value, s *state) finding {
	f := understood
	for _, v := range args {
		if !v.known {
			return unknownYet("a variable name of unset")
		}
		f = stricter(f, variable(v.text))
		s.set(v.text, unknown)
	}
	return f
}

// setBuiltin judges set: the options that make scripts stop early are understood.
func setBuiltin(_ *judge, args []value, _ *state) finding {
	if len(args) == 0 {
		return high("shell.environment", "set shows all variables")
	}
	for i := 0; i < len(args); i++ {
		v := args[i]
		switch {
		case v.known && v.text == "pipefail" && i > 0 && strings.HasSuffix(args[i-1].text, "o"):
		case v.known && strings.HasPrefix(v.text, "-") && len(v.text) > 1 && strings.Trim(v.text[1:], "euo") == "":
		default:
			return opaque("set changes how the shell works")
		}
	}
	return understood
}

// lookUp judges what tells where a command is.
func lookUp(j *judge, args []value, s *state) finding {
	f := understood
	for _, v := range args {
		if v.known && strings.Contains(v.text, "/") {
			f = stricter(f, j.operand(v, programs.Read, s))
		}
	}
	return f
}
