package policy

import (
	"slices"
	"strings"
)

// findTests are the words of find that only look: the number is how many values they take, the first of the kind that is named.
var findTests = map[string]struct {
	values int
	kind   kind
}{
	"-name": {1, kindText}, "-iname": {1, kindText}, "-path": {1, kindText}, "-ipath": {1, kindText}, "-wholename": {1, kindText}, "-regex": {1, kindText},
	"-iregex": {1, kindText}, "-type": {1, kindText}, "-xtype": {1, kindText}, "-size": {1, kindText}, "-mtime": {1, kindText}, "-mmin": {1, kindText}, "-atime": {1, kindText},
	"-amin": {1, kindText}, "-ctime": {1, kindText}, "-cmin": {1, kindText}, "-newer": {1, kindRead}, "-anewer": {1, kindRead}, "-cnewer": {1, kindRead},
	"-newermt": {1, kindText}, "-maxdepth": {1, kindText}, "-mindepth": {1, kindText}, "-perm": {1, kindText}, "-user": {1, kindText}, "-group": {1, kindText},
	"-links": {1, kindText}, "-inum": {1, kindText}, "-samefile": {1, kindRead}, "-regextype": {1, kindText}, "-printf": {1, kindText}, "-uid": {1, kindText}, "-gid": {1, kindText},
	"-depth": {}, "-empty": {}, "-not": {}, "!": {}, "(": {}, ")": {}, "-a": {}, "-and": {}, "-o": {}, "-or": {}, ",": {}, "-print": {}, "-print0": {}, "-prune": {}, "-quit": {},
	"-ls": {}, "-true": {}, "-false": {}, "-readable": {}, "-writable": {}, "-executable": {}, "-xdev": {}, "-mount": {}, "-noleaf": {}, "-daystart": {}, "-nouser": {}, "-nogroup": {},
	"-ignore_readdir_race": {}, "-noignore_readdir_race": {}, "-nowarn": {}, "-warn": {},
}

// findRunner judges find: where it begins, that its words only look, and what it runs on what it finds.
func findRunner(j *judge, argv []value, s *state, depth int) finding {
	j.note("find")
	f := low("command.harmless", "runs find, which only reads")
	i := 1
	for ; i < len(argv) && argv[i].known && (argv[i].text == "-P" || argv[i].text == "--" || findLevel(argv[i].text)); i++ {
	}
	for ; i < len(argv); i++ {
		v := argv[i]
		if v.known && (strings.HasPrefix(v.text, "-") || v.text == "!" || v.text == "(") {
			break
		}
		f = stricter(f, prefixed(j.operand(v, kindRead, s), "find"))
	}
	files := !slices.ContainsFunc(argv, func(v value) bool { return slices.Contains([]string{"-o", "-or", "!", "-not", ","}, v.text) })
	regular := false // what is found so far is neither a directory nor a link
	for ; i < len(argv); i++ {
		v := argv[i]
		if !v.known {
			return stricter(f, opaque("an argument of find is only known at run time"))
		}
		if v.text == "-exec" {
			end := i + 1
			for end < len(argv) && argv[end].text != ";" && !(argv[end].text == "+" && argv[end-1].text == "{}") {
				end++
			}
			if end == len(argv) || end == i+1 {
				return stricter(f, opaque("find -exec has no ; or +"))
			}
			if !files || !regular || !j.p.walled() {
				f = stricter(f, medium("command.allowlist", "runs a program on the files found, including links"))
			}
			f = stricter(f, j.withAnyWords(argv[i+1:end], s, depth, "{}"))
			if n, ok := findNames(argv[:i]); ok && (f.rank() < 2 || s.lost) && !slices.Contains(printers, argv[i+1].text) {
				f = stricter(f, j.links(n, s))
			}
			if slices.ContainsFunc(argv, func(v value) bool { return v.text == "l" || v.text == "-xtype" }) {
				f = stricter(f, opaque("find passes links to a program that follows them"))
			}
			i = end
			continue
		}
		regular = regular || v.text == "-type" && i+1 < len(argv) && argv[i+1].text == "f"
		t, ok := findTests[v.text]
		if !ok {
			return stricter(stricter(f, high("command.option", "find: unknown argument %+q", bounded(v.text))), j.anyPaths(argv[i:], s))
		}
		for k := range t.values {
			if i++; i < len(argv) && k == 0 {
				if !argv[i].known && t.kind != kindText {
					return stricter(f, opaque("a file name of find is only known at run time"))
				}
				f = stricter(f, prefixed(j.operand(argv[i], t.kind, s), "find "+v.text))
			}
		}
	}
	return f
}

// findLevel tells whether a word is how much find may optimise.
func findLevel(word string) bool {
	return len(word) == 3 && strings.HasPrefix(word, "-O") && isNumber(word[2:])
}

// gitCommands are the commands of git that only look, with the options that are understood.
var gitCommands = map[string]string{
	"status":    "-s -b -u?=text -v -z --short --branch --porcelain?=text --long --verbose --untracked-files?=text --ignored?=text --show-stash --ahead-behind --no-ahead-behind --column?=text --no-column --renames --no-renames --ignore-submodules?=text",
	"log":       gitLog + " -L=text",
	"show":      gitLog,
	"diff":      gitDiff + " --cached --staged --merge-base",
	"shortlog":  "-s -n -e -c --summary --numbered --email --since=text --until=text --author=text --no-merges --all --group=text",
	"branch":    "-a -r -v -l --all --remotes --list --verbose --show-current --contains?=text --no-contains?=text --merged?=text --no-merged?=text --sort=text --format=text --color?=text --no-color --column?=text --no-column --points-at=text --abbrev?=number",
	"tag":       "-l -n?=number --list --contains?=text --no-contains?=text --merged?=text --points-at=text --sort=text --format=text --color?=text --column?=text",
	"remote":    "-v --verbose",
	"rev-parse": "--short?=number --abbrev-ref?=text --show-toplevel --show-prefix --show-cdup --git-dir --verify --quiet -q --is-inside-work-tree --is-bare-repository --symbolic-full-name --all --branches --tags --remotes --show-superproject-working-tree --absolute-git-dir",
	"rev-list":  "--count --all --max-count=number -n=number --since=text --until=text --author=text --no-merges --merges --reverse --first-parent --oneline --left-right --objects",
	"blame":     "-L=text -l -t -w -e -s -f -n -p -M -C --porcelain --line-porcelain --show-name --show-number --show-email --date=text --since=text --abbrev=number --root",
	"ls-files":  "-c -d -m -o -i -s -t -u -v -z --cached --deleted --modified --others --ignored --stage --unmerged --exclude-standard --full-name --error-unmatch --directory --exclude=text -x=text",
	"ls-tree":   "-d -r -t -l -z --long --name-only --name-status --full-name --full-tree --abbrev?=number",
	"cat-file":  "-t -s -e -p",
	"describe":  "--all --tags --contains --always --long --dirty?=text --abbrev=number --match=text --exact-match --first-parent --candidates=number",
	"reflog":    gitLog, "name-rev": "--name-only --tags --all --always", "merge-base": "-a --all --is-ancestor --fork-point --octopus", "show-ref": "--head --heads --tags -d -s --hash?=number -q --verify",
	"grep": "-n -i -l -L -c -w -v -e=text -E -F -G -P -h -H -I -o -q -p -W -A=number -B=number -C=number --cached --count --line-number --ignore-case --files-with-matches --name-only --word-regexp " +
		"--heading --break --max-depth=number --untracked --and --or --not --all-match --show-function --function-context --column --only-matching --extended-regexp --fixed-strings --perl-regexp",
	"count-objects": "-v -H --verbose --human-readable", "stash": "", "version": "",
}

const gitDiff = "--ignore-submodules?=text -p -u -s -U=number -w -b -a -R -M?=text -C?=text -B?=text -D -S=text -G=text -z --patch --no-patch --unified=number --raw --stat?=text --numstat --shortstat --dirstat?=text --summary --name-only --name-status --color?=text --no-color --color-words?=text --word-diff?=text --word-diff-regex=text " +
	"--no-renames --find-renames?=text --find-copies?=text --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol --ignore-submodules?=text --minimal --patience --histogram --diff-algorithm=text --diff-filter=text --no-ext-diff --no-textconv --exit-code --quiet --check --full-index --binary --abbrev?=number --text --relative?=text --pickaxe-regex --pickaxe-all --inter-hunk-context=number --function-context -W --no-prefix --compact-summary --submodule?=text"

const gitLog = gitDiff + " -n=number -g -i -E -F -P -m -c -r -t --max-count=number --oneline --graph --all --branches?=text --tags?=text --remotes?=text --decorate?=text --no-decorate --decorate-refs=text --since=text --after=text --until=text --before=text --author=text --committer=text --grep=text --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --merges --no-merges --first-parent --reverse --date=text --format=text --pretty?=text --abbrev-commit --no-abbrev-commit --follow --skip=number --topo-order --date-order --author-date-order --left-right --cherry-pick --simplify-by-decoration --full-history --no-notes --walk-reflogs --relative-date --ancestry-path --no-expand-tabs --encoding=text --source --boundary --max-parents=number --min-parents=number --log-size --full-diff --name-only"

// gitWords are commands that look only if their first operand is one of these, or if they have none.
var gitWords = map[string][]string{"branch": nil, "tag": nil, "remote": {"get-url"}, "stash": {"list", "show"}, "reflog": {"show"}}

// gitRunner judges git: the commands that only look.
func gitRunner(j *judge, argv []value, s *state, depth int) finding {
	j.note("git")
	i := 1
	for ; i < len(argv); i++ {
		v := argv[i]
		if !v.known {
			return opaque("an argument of git is only known at run time")
		}
		if v.text == "--version" && len(argv) == i+1 {
			return low("command.harmless", "prints the version of git")
		}
		if !strings.HasPrefix(v.text, "-") {
			break
		}
		if v.text != "--no-pager" && v.text != "--no-optional-locks" && v.text != "--literal-pathspecs" {
			return stricter(high("command.option", "git: unknown option %+q before its command", bounded(v.text)), j.anyPaths(argv[i:], s))
		}
	}
	if i == len(argv) {
		return opaque("git without a command")
	}
	sub := argv[i].text
	if sub == "init" || sub == "clone" {
		return stricter(j.newRepository(sub, argv[i+1:], s), j.everyPath(argv[i+1:], s, writing))
	}
	options, ok := gitCommands[sub]
	if f, listed := j.listedWord(argv, i, s); listed && i == 1 {
		return f
	}
	if !ok {
		return stricter(high("command.option", "git %+q may change the repository, reach the network or run programs", bounded(sub)), j.anyPaths(argv[i:], s))
	}
	r := newRules(&program{name: "git " + sub, options: options, digits: true, operands: []kind{kindText}})
	p, f := r.parse(append([]value{{text: "git " + sub, known: true}}, argv[i+1:]...))
	if f.rank() > 1 {
		return stricter(f, j.anyPaths(argv[i:], s))
	}
	return stricter(stricter(j.looks(sub, depth), j.anyPaths(p.operands, s)), gitOperands(sub, p))
}

// looks is the finding about a command of git that only looks. A repository names programs that git runs even then (textconv,
// filters, gpg, a remote's for objects that are missing): it only looks where the sandbox keeps git from starting any, which
// it does for git that the script itself starts.
func (j *judge) looks(sub string, depth int) finding {
	switch {
	case !j.p.walled():
		return high("command.repository", "git %s runs programs named in the repository's settings, and no sandbox prevents that", sub)
	case depth > 0:
		return high("command.repository", "git %s runs programs named in the repository's settings, unless the script starts git directly", sub)
	}
	return low("command.harmless", "runs git %s, which only reads", sub)
}

// gitOperands refuses words with which a command that looks would change something.
func gitOperands(sub string, p *parsed) finding {
	first := ""
	if len(p.operands) > 0 {
		if first = p.operands[0].text; !p.operands[0].known {
			return opaque("an argument of git %s is only known at run time", sub)
		}
	}
	words, special := gitWords[sub]
	switch {
	case sub == "stash" && first == "":
		return opaque("git stash without an argument removes changes from the files")
	case !special || first == "":
		return understood
	case words == nil && p.has("-l", "--list", "--contains", "--merged", "--no-merged", "--points-at", "--no-contains"):
		return understood
	case words == nil:
		return high("command.option", "git %s with a name creates one", sub)
	case sub == "reflog" && !slices.Contains([]string{"expire", "delete", "drop", "write"}, first):
		return understood
	case !slices.Contains(words, first):
		return high("command.option", "git %s %+q may change something", sub, bounded(first))
	}
	return understood
}

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
