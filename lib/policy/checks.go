package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// check looks at what the description of a program cannot say. It gets the words as they were taken apart.
type check func(j *judge, p *parsed, s *state) finding

// checkOf is the check of a name; one that nobody knows refuses everything.
func checkOf(name string) (check, bool) {
	switch name {
	case "awk-program":
		return awkCheck, true
	case "copies":
		return copies, true
	case "date-format":
		return dateFormat, true
	case "jq-filter":
		return jqCheck, true
	case "ls-links":
		return lsLinks, true
	case "no-follow-file":
		return noFollowFile, true
	case "no-operands":
		return noOperands, true
	case "no-response-file":
		return noResponseFile, true
	case "pattern-first":
		return patternFirst, true
	case "sed-script":
		return sedCheck, true
	case "tail-follows":
		return tailFollows, true
	case "to-stdout":
		return toStdout, true
	}
	return func(_ *judge, p *parsed, _ *state) finding {
		return opaque("%s has a check that does not exist", p.name)
	}, name == ""
}

func noOption(name, o string) finding {
	return high("command.option", "%s: unknown option %s", name, o)
}

func noFollowFile(_ *judge, p *parsed, _ *state) finding {
	if p.has("-L") {
		return noOption(p.name, "-L")
	}
	return understood
}

// noResponseFile refuses @FILE, which some programs take more words from.
func noResponseFile(_ *judge, p *parsed, _ *state) finding {
	for _, v := range p.operands {
		if strings.HasPrefix(v.text, "@") {
			return opaque("%s reads more arguments from %+q", p.name, bounded(v.text))
		}
	}
	return understood
}

func noOperands(_ *judge, p *parsed, _ *state) finding {
	if len(p.operands) > 0 {
		return opaque("%s with an argument changes something", p.name)
	}
	return understood
}

// toStdout wants a program that replaces files to write to its output instead.
func toStdout(_ *judge, p *parsed, _ *state) finding {
	if len(p.operands) > 0 && !keepsFiles(p) {
		return opaque("%s without -c replaces files", p.name)
	}
	return understood
}

// dateFormat wants operands to be formats: others set the clock.
func dateFormat(_ *judge, p *parsed, _ *state) finding {
	for _, v := range p.operands {
		if !v.known || !strings.HasPrefix(v.text, "+") {
			return opaque("date with an argument that does not begin with + sets the clock")
		}
	}
	return understood
}

// patternFirst: without -e or -f the first operand is the pattern, with it all are files. grep -d recurse is like -r.
func patternFirst(j *judge, p *parsed, s *state) finding {
	if !p.has("-e", "-f", "--regexp", "--file") || len(p.operands) == 0 {
		return understood
	}
	return j.operand(p.operands[0], programs.Read, s)
}

// copies judges where files are put: into the last operand, or under their name into it.
func copies(j *judge, p *parsed, s *state) finding {
	n := len(p.operands)
	if n < 2 {
		return understood
	}
	f := understood
	to := p.operands[n-1]
	for _, from := range p.operands[:n-1] {
		if j.ended(f) {
			break
		}
		if !from.known || !to.known {
			return unknownYet("a file name of %s", p.name)
		}
		name := filepath.Base(from.text)
		if p.has("-r", "-R", "-a", "--recursive", "--archive") && slices.Contains([]string{".", "..", "/"}, name) ||
			strings.HasSuffix(from.text, "/.") {
			f = stricter(f, opaque("%s overwrites with everything in %+q, including .git", p.name, bounded(from.text)))
			continue
		}
		into := filepath.Join(to.text, name)
		f = stricter(f, j.operand(value{text: into, known: true}, programs.Write, s))
		f = stricter(f, j.brought(from.text, s, into, to.text))
	}
	return f
}

// sedCheck judges sed's scripts, and that -i writes the files.
func sedCheck(j *judge, p *parsed, s *state) finding {
	f := understood
	scripts, files := p.get("-e", "--expression"), p.operands
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, v := range scripts {
		if !v.known {
			return unknownYet("the script of sed")
		}
	}
	err, writes := sedScript(strings.Join(texts(scripts), "\n"))
	if err != "" {
		f = opaque("sed: %s", err)
	}
	for _, name := range writes {
		f = stricter(f, onlyBlocked(j.path(name, writing, s)))
	}
	inPlace := p.get("-i", "--in-place")
	for _, v := range inPlace {
		if strings.ContainsAny(v.text, "/*") {
			f = stricter(f, stricter(opaque("sed -i%s creates files elsewhere", bounded(v.text)),
				onlyBlocked(j.path(v.text, writing, s))))
		}
	}
	for _, v := range files {
		k := programs.Read
		if len(inPlace) > 0 {
			k = programs.Write
		}
		f = stricter(f, j.operand(v, k, s))
	}
	return f
}

// awkCheck judges awk's program. A file NAME=VALUE is an assignment.
func awkCheck(j *judge, p *parsed, s *state) finding {
	if len(p.operands) == 0 {
		return opaque("awk without a program")
	}
	if !p.operands[0].known {
		return unknownYet("the program of awk")
	}
	f := understood
	if err := awkProgram(p.operands[0].text); err != "" {
		f = opaque("awk: %s", err)
	}
	for _, v := range p.get("-v", "--assign") {
		if name, _, ok := strings.Cut(v.text, "="); !v.known && !v.number && v.text != "" || v.known &&
			(!ok || slices.Contains(awkSpecial, name)) {
			f = stricter(f, opaque("awk -v sets a variable that controls what it reads"))
		}
	}
	for _, v := range p.operands[1:] {
		if name, _, ok := strings.Cut(v.text, "="); ok && slices.Contains(awkSpecial, name) {
			f = stricter(f, opaque("awk: an operand sets %s", name))
		}
	}
	return f
}

func jqCheck(j *judge, p *parsed, s *state) finding {
	words, f := p.operands, understood
	if len(words) == 0 {
		return f
	}
	// --arg takes two values; the second one was taken for an operand, so that any of them may be the filter.
	filters := words[:1]
	if p.has("--arg", "--argjson") {
		filters = words
		f = stricter(f, j.operand(words[0], programs.Read, s))
	}
	for _, v := range filters {
		if !v.known {
			return unknownYet("the filter of jq")
		}
		if err := jqFilter(v.text); err != "" {
			f = stricter(f, opaque("jq: %s", err))
		}
	}
	return f
}
