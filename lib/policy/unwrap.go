package policy

import (
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// unwrapped is what a command runs in the end: itself, the commands in its words, the scripts in them.
type unwrapped struct {
	commands []command
	scripts  []string
	deep     bool // there are more than anybody needs
}

// maxCommands bounds how many commands one simple command is taken for.
const maxCommands = 64

// unwrap finds all that a command could run. Where it depends on options that are not known here, each word that could
// be the inner command is taken for one.
func unwrap(c command) unwrapped {
	u := unwrapped{}
	starts, scripts := []int{0}, map[int]bool{}
	for n := 0; n < len(starts); n++ {
		if n == maxCommands {
			u.deep = true
			break
		}
		part := command{c.words[starts[n]:], c.literal[starts[n]:]}
		if len(part.words) == 0 {
			continue
		}
		u.commands = append(u.commands, part)
		for _, i := range part.inner() {
			if i += starts[n]; !slices.Contains(starts, i) {
				starts = append(starts, i)
			}
		}
		for _, i := range part.texts() {
			if i += starts[n]; !scripts[i] {
				scripts[i] = true
				u.scripts = append(u.scripts, c.text(i, starts[n]))
			}
		}
	}
	return u
}

// runs tells whether one of the commands is of that kind.
func (u unwrapped) runs(is func(string) bool) bool {
	return slices.ContainsFunc(u.commands, func(c command) bool { return is(c.name()) })
}

// inner are the indexes of the words where a wrapped command may begin.
func (c command) inner() []int {
	if c.name() == "find" {
		return c.afterExec()
	}
	w, ok := programs.Find(c.name())
	if !ok || w.How != programs.Wrapper {
		return nil
	}
	var out []int
	budget, options := w.Wraps+1, true
	for i := 1; i < len(c.words) && budget > 0 && len(out) <= maxCommands; i++ {
		switch word := c.words[i]; {
		case options && word == "--":
			options = false
		case options && len(word) > 1 && word[0] == '-':
			if word[1] != '-' && strings.ContainsAny(word[1:], w.Lookup) {
				return nil
			}
			if mayTakeValue(word, w.Flags) {
				budget++
			}
		case w.Assigns && strings.Contains(word, "="), !c.literal[i] && word == "":
		default:
			out = append(out, i)
			budget--
		}
	}
	return out
}

// mayTakeValue tells whether the word behind an option may be its value.
func mayTakeValue(option, plain string) bool {
	if strings.HasPrefix(option, "--") {
		return !strings.Contains(option, "=")
	}
	return strings.Trim(option[1:], plain) != ""
}

// afterExec are the commands of find.
func (c command) afterExec() []int {
	var out []int
	for i, w := range c.words[:len(c.words)-1] {
		if len(out) <= maxCommands && slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w) {
			out = append(out, i+1)
		}
	}
	return out
}

// texts are the indexes of the words that the command runs as scripts.
func (c command) texts() []int {
	var out []int
	switch name := c.name(); {
	case isShell(name):
		return c.shellScripts()
	case name == "eval" && len(c.words) > 1:
		return []int{1}
	case name == "env":
		for i, w := range c.words {
			if i > 0 && splits(w) && len(out) < maxUnwrap { // each is the whole rest of the command
				out = append(out, i)
			}
		}
	case programs.Is(name, programs.RunsText):
		for i, w := range c.words {
			if i > 0 && strings.ContainsAny(w, " \t\n;|&=") {
				out = append(out, i)
			}
		}
	}
	return out
}

// shellScripts finds the script of sh -c, which need not stand right behind it.
func (c command) shellScripts() []int {
	var out []int
	given, budget := false, 1
	for i := 1; i < len(c.words) && budget > 0; i++ {
		w := c.words[i]
		switch {
		case len(w) > 1 && (w[0] == '-' || w[0] == '+'):
			given = given || w[0] == '-' && w[1] != '-' && strings.Contains(w, "c")
			if strings.HasPrefix(w, "--") && w != "--" || strings.ContainsAny(w, "oO") {
				budget++
			}
		default:
			if given {
				out = append(out, i)
			}
			budget--
		}
	}
	return out
}

// splits tells whether a word is env's option that takes a command line.
func splits(w string) bool {
	return strings.HasPrefix(w, "--s") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "S")
}

// text is the script that begins in word i of a command that begins at start.
func (c command) text(i, start int) string {
	rest := strings.Join(c.words[i+1:], " ")
	switch w := c.words[i]; (command{words: c.words[start:]}).name() {
	case "eval":
		return w + " " + rest
	case "env":
		_, value, long := strings.Cut(w, "=")
		if !strings.HasPrefix(w, "--") {
			_, value, long = strings.Cut(w, "S")
		}
		if !long {
			value = ""
		}
		return value + " " + rest
	case "alias":
		_, value, _ := strings.Cut(w, "=")
		return value
	default:
		return w
	}
}
