package policy

import "clawsh/lib/policy/programs"

// onList is the finding about a program that there is a rule for: low, if it is proven to only read. A compressor is,
// if it is understood at all: toStdout refuses others.
func (m model) onList(name string) finding {
	if m.Is(name, programs.Reads) {
		return low("command.harmless", "runs %s, which only reads", name)
	}
	return medium("command.allowlist", "runs %s, which is on the allowlist", name)
}

// keepsFiles tells whether a compressor writes to its output, or only looks. Of what is to be done the last word counts
// for bzip2 and xz: a test that is also told to decompress replaces the file.
func keepsFiles(p *parsed) bool {
	return p.has("-c", "--stdout", "--to-stdout") || p.has("-l", "--list", "-t", "--test") &&
		!p.has("-d", "--decompress", "--uncompress")
}

// lsLinks lets ls follow links where none leads out.
func lsLinks(j *judge, p *parsed, s *state) finding {
	if !p.has("-L", "-H", "--dereference", "--dereference-command-line") {
		return understood
	}
	names := p.operands
	if len(names) == 0 {
		names = []value{{text: ".", known: true}}
	}
	f := understood
	for _, v := range names {
		if of := j.operand(v, programs.Tree, s); of.rank() > 1 {
			f = stricter(f, opaque("ls follows links: %s", of.reason))
		}
	}
	return f
}

// tailFollows lets tail wait for more where a timeout ends it.
func tailFollows(j *judge, p *parsed, _ *state) finding {
	if p.has("-f", "-F", "--follow") && !j.timed {
		return opaque("tail -f does not end: put timeout before it")
	}
	return understood
}
