package policy

import (
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// gitRunner judges git: the commands that only look.
func gitRunner(j *judge, argv []value, s *state, depth int) finding {
	j.note("git")
	git, _ := programs.Find("git")
	i := 1
	for ; i < len(argv); i++ {
		v := argv[i]
		if !v.known {
			return unknownYet("an argument of git")
		}
		if v.text == "--version" && len(argv) == i+1 {
			return low("command.harmless", "prints the version of git")
		}
		if !strings.HasPrefix(v.text, "-") {
			break
		}
		if _, ok := git.Option(v.text); !ok {
			return stricter(high("command.option", "git: unknown option %+q before its command", bounded(v.text)),
				j.anyPaths(argv[i:], s))
		}
	}
	if i == len(argv) {
		return opaque("git without a command")
	}
	sub := argv[i].text
	if sub == "init" || sub == "clone" {
		return stricter(j.newRepository(sub, argv[i+1:], s), j.everyPath(argv[i+1:], s, writing))
	}
	command, ok := git.Commands[sub]
	if f, listed := j.listedWord(argv, i, s); listed && i == 1 {
		return f
	}
	if !ok {
		return stricter(high("command.option", "git %+q may change the repository, reach the network or run programs",
			bounded(sub)), j.anyPaths(argv[i:], s))
	}
	p, f := model{&command.Program}.parse(append([]value{{text: "git " + sub, known: true}}, argv[i+1:]...))
	if f.rank() > 1 {
		return stricter(f, j.anyPaths(argv[i:], s))
	}
	return stricter(stricter(j.looks(sub, depth), j.anyPaths(p.operands, s)), gitOperands(sub, command, p))
}

// looks is the finding about a command of git that only looks. A repository names programs that git runs even then
// (textconv, filters, gpg, a remote's for objects that are missing): it only looks where the sandbox keeps git from
// starting any, which it does for git that the script itself starts.
func (j *judge) looks(sub string, depth int) finding {
	switch {
	case !j.on.walled():
		return high("command.repository",
			"git %s runs programs named in the repository's settings, and no sandbox prevents that", sub)
	case depth > 0:
		return high("command.repository",
			"git %s runs programs named in the repository's settings, unless the script starts git directly", sub)
	}
	return low("command.harmless", "runs git %s, which only reads", sub)
}

// gitOperands refuses words with which a command that looks would change something.
func gitOperands(sub string, command *programs.Command, p *parsed) finding {
	first := ""
	if len(p.operands) > 0 {
		if first = p.operands[0].text; !p.operands[0].known {
			return unknownYet("an argument of git %s", sub)
		}
	}
	switch {
	case sub == "stash" && first == "":
		return opaque("git stash without an argument removes changes from the files")
	case first == "":
		return understood
	case slices.Contains(command.NotFirst, first), len(command.First) > 0 && !slices.Contains(command.First, first):
		return high("command.option", "git %s %+q may change something", sub, bounded(first))
	case !command.HasFirst, len(command.First) > 0:
		return understood
	case p.has("-l", "--list", "--contains", "--merged", "--no-merged", "--points-at", "--no-contains"):
		return understood
	}
	return high("command.option", "git %s with a name creates one", sub)
}

// goRunner judges go, which builds and runs what is in the workspace.
func goRunner(j *judge, argv []value, s *state, _ int) finding {
	if words := texts(argv); len(words) == 2 && argv[1].known && words[1] == "version" {
		j.note("go")
		return low("command.harmless", "prints the version of go")
	}
	if f, listed := j.listedWord(argv, 1, s); listed {
		return f
	}
	return stricter(opaque("go builds and runs what is in the workspace"), j.anyPaths(argv[1:], s))
}
