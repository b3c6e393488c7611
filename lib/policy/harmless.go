package policy

import (
	"slices"
	"strings"
)

// readers are programs of the table that only read, with every option and word that the table knows: what they write, they
// write to their output, unless an option or a word is a file to write, which is judged as one.
var readers = strings.Fields("cat tac rev nl head tail wc ls dir stat du df file readlink realpath basename dirname grep egrep fgrep sort uniq cut tr paste comm join " +
	"column fold expand unexpand fmt od hexdump hd xxd strings base64 base32 cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cmp diff zcat gzcat " +
	"which uname whoami id groups tty arch nproc logname users uptime free hostname date cal sleep seq expr factor tree sed awk gawk mawk nawk jq")

// compressors only read where they write to their output.
var compressors = []string{"gzip", "gunzip", "bzip2", "xz"}

// onList is the finding about a program of the table: low, if it is proven to only read.
func onList(name string, p *parsed) finding {
	reads := slices.Contains(readers, name)
	if slices.Contains(compressors, name) {
		reads = len(p.operands) == 0 || keepsFiles(p)
	}
	if reads {
		return low("command.harmless", "runs %s, which only reads", name)
	}
	return medium("command.allowlist", "runs %s, which is on the allowlist", name)
}

// keepsFiles tells whether a compressor writes to its output, or only looks. Of what is to be done the last word counts for bzip2 and
// xz: a test that is also told to decompress replaces the file.
func keepsFiles(p *parsed) bool {
	return p.has("-c", "--stdout", "--to-stdout") || p.has("-l", "--list", "-t", "--test") && !p.has("-d", "--decompress", "--uncompress")
}

// walled tells whether programs run where the kernel holds them to what they are approved for: then a low risk script sees
// the workspace read-only, and git starts no program that the repository names.
func (p *Policy) walled() bool {
	return slices.Contains([]string{"auto", "native", "bubblewrap", "landlock"}, p.sandbox)
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
		if of := j.operand(v, kindTree, s); of.rank() > 1 {
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
