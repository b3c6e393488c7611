package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxCluster is how many letters of an option are tried as the place where its value begins.
const maxCluster = 32

// candidates are the paths that a word may mean to a program. Which letters of a short option are options too, and
// where its value begins, only the program knows: each place is tried.
func candidates(word string) []string {
	if word == "" || word == "-" || word == "--" {
		return nil
	}
	var out []string
	option := strings.HasPrefix(word, "-")
	if !option {
		out = append(out, word)
	} else if word[1] != '-' {
		for i := 2; i < min(len(word), maxCluster) && letter(word[i-1]); i++ {
			out = append(out, word[i:])
		}
	}
	for _, w := range append(out, word) {
		if _, path, ok := strings.Cut(w, "@"); ok {
			out = append(out, path)
		}
		if path, ok := strings.CutPrefix(w, "file://"); ok {
			out = append(out, path)
		}
	}
	for range maxCluster {
		_, value, ok := strings.Cut(word, "=")
		if !ok {
			break
		}
		out, word = append(out, value, strings.TrimPrefix(value, "@")), value
	}
	return out
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// fed judges the text that a statement gives to a shell to run.
func (p *Policy) fed(s *syntax.Stmt, l *landmarks, e effort) finding {
	verdict := finding{}
	if len(s.Redirs) == 0 || !e.runs(s, isShell) {
		return verdict
	}
	for _, r := range s.Redirs {
		for _, w := range []*syntax.Word{r.Word, r.Hdoc} {
			if w == nil {
				continue
			}
			if within(w, l.downloads) {
				return blocked("shell.destructive", "it runs what it downloads")
			}
			if text, _ := literal(w); r.Op == syntax.WordHdoc || w == r.Hdoc {
				verdict = stricter(verdict, p.nested(text, e))
			}
		}
	}
	return verdict
}

// intoProcess finds a download that is written into a process that runs it: curl … > >(sh).
func intoProcess(s *syntax.Stmt, l *landmarks) finding {
	if s.Cmd == nil || !within(s.Cmd, l.downloads) {
		return finding{}
	}
	for _, r := range s.Redirs {
		if r.Word != nil && within(r.Word, l.runs) {
			return blocked("shell.destructive", "it runs what it downloads")
		}
	}
	return finding{}
}
