package policy

import (
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// systemPrograms are the directories whose programs are known by their names alone.
var systemPrograms = []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"}

// plainName is the name of a program that is given by its path in a directory of the system, if it is one that the
// operator has put on the allowlist and that has no rule. A path stays what it is for programs that there are rules
// for: the rules are about the program that the name finds.
func (j *judge) plainName(word string) string {
	for _, dir := range systemPrograms {
		name, ok := strings.CutPrefix(word, dir)
		if !ok || strings.Contains(name, "/") || !j.on.lists(name) {
			continue
		}
		if _, known := modelled(name); known || builtins[name] != nil || runs(name) && !anyCode(name) {
			continue
		}
		return name
	}
	return word
}

// anyCode tells whether a program runs what it is given, or what is in the workspace. On the allowlist, where only an
// operator puts it, it asks; else it is high like everything that is not on it.
func anyCode(name string) bool {
	p, ok := programs.Find(name)
	return ok && p.Rule == "any-code"
}

func runs(name string) bool {
	_, ok := runnerOf(name)
	return ok
}

// anyCodeRunner judges a program that the operator has listed though it runs anything.
func anyCodeRunner(j *judge, argv []value, s *state, _ int) finding {
	j.note(argv[0].text)
	j.free = append(j.free, argv[0].text)
	f := medium("command.listed", "%+q can run any code, inside the sandbox", bounded(argv[0].text))
	return stricter(f, j.everyPath(argv[1:], s, touching))
}

// listedWord judges a command of a program that there are rules for, but none for this: it asks if allowed_commands
// names the program with this word, as in "go test".
func (j *judge) listedWord(argv []value, word int, s *state) (finding, bool) {
	if word >= len(argv) || !argv[word].known || !j.on.listsWord(argv[0].text, argv[word].text) {
		return finding{}, false
	}
	j.note(argv[0].text)
	j.free = append(j.free, argv[0].text+" "+argv[word].text)
	f := medium("command.listed", "%s %s can run any code, inside the sandbox", argv[0].text, bounded(argv[word].text))
	return stricter(f, j.everyPath(argv[1:], s, touching)), true
}

// mayBeFed tells whether every program of a command that runs its input is one that the operator has listed.
func (j *judge) mayBeFed(u unwrapped) bool {
	return !slices.ContainsFunc(u.commands, func(c command) bool { return isRunner(c.name()) && !j.on.lists(c.name()) })
}
