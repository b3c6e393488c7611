package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a script. The parser has none of its own: a million brackets would end the process.
const (
	maxScriptBytes = 64 << 10
	maxNesting     = 64
	maxUnwrap      = 8
)

// command is one simple command that was found in a script: its words after quote removal, as far as they are literal.
type command struct {
	words   []string
	literal []bool // which words are what they look like
}

// name is the base name of the command word, if it is literal.
func (c command) name() string {
	if len(c.words) == 0 || !c.literal[0] {
		return ""
	}
	return base(c.words[0])
}

func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// shell judges a script.
func (p *Policy) shell(a shellArgs) finding {
	if a.Command == nil {
		return missing("command")
	}
	return p.script(*a.Command, 0)
}

// script judges the text of a script; level counts how many wrappers it was found in.
func (p *Policy) script(text string, level int) finding {
	if f := unsafeBytes(text); f.blocked {
		return f
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "command")
	if err != nil {
		if f := destructiveText(text); f.blocked {
			return f
		}
		return blocked("shell.syntax", "the command cannot be parsed as shell")
	}
	if len(file.Stmts) == 0 {
		return blocked("shell.syntax", "the command is empty")
	}
	if strings.TrimSpace(text) == "pwd" {
		return low("command.harmless", "pwd only tells the directory")
	}
	verdict := p.everywhere(file, level)
	for _, s := range file.Stmts {
		verdict = stricter(verdict, p.statement(s))
	}
	return verdict
}

// unsafeBytes refuses what people, parsers and shells read differently, before anything is parsed.
func unsafeBytes(text string) finding {
	if len(text) > maxScriptBytes || !utf8.ValidString(text) {
		return blocked("shell.unsafe_bytes", "the command is longer than %d bytes, or not UTF-8", maxScriptBytes)
	}
	depth := 0
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return blocked("shell.unsafe_bytes", "the command holds the character %U, which cannot be seen", r)
		case strings.ContainsRune("({`[", r):
			// counted, not matched: brackets in quotes do no harm to the parser, but never need so many
			if depth++; depth > maxNesting {
				return blocked("shell.unsafe_bytes", "the command holds more than %d brackets", maxNesting)
			}
		}
	}
	for _, word := range []string{"if", "while", "until", "for", "case", "select", "!"} {
		if strings.Count(text, word+" ") > 4*maxNesting {
			return blocked("shell.unsafe_bytes", "the command is nested too deep")
		}
	}
	return finding{}
}

// everywhere looks at every command in the script, however deep it stands, for what is blocked.
func (p *Policy) everywhere(file *syntax.File, level int) finding {
	verdict := finding{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			verdict = stricter(verdict, p.forbiddenCommand(wordsOf(n), level))
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				verdict = stricter(verdict, downloadPipe(n))
			}
		case *syntax.FuncDecl:
			verdict = stricter(verdict, forkBomb(n))
		}
		return !verdict.blocked
	})
	return verdict
}

// statement judges a statement: only simple commands, and lists and pipelines of them, can be understood.
func (p *Policy) statement(s *syntax.Stmt) finding {
	switch {
	case s.Background || s.Coprocess || s.Disown:
		return high("shell.construct", "it runs something in the background")
	case s.Negated:
		return high("shell.construct", "it negates a command")
	case len(s.Redirs) > 0:
		return high("shell.construct", "it redirects input or output")
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return high("shell.construct", "it assigns a variable")
		}
		return p.simple(wordsOf(c))
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt, syntax.OrStmt, syntax.Pipe:
			return stricter(p.statement(c.X), p.statement(c.Y))
		}
		return high("shell.construct", "it joins commands in a way that is not plain")
	}
	return high("shell.construct", "it is more than simple commands")
}

// simple judges one simple command.
func (p *Policy) simple(c command) finding {
	for _, ok := range c.literal {
		if !ok {
			return high("shell.construct", "a word of it is known only when it runs")
		}
	}
	if len(c.words) == 0 {
		return high("shell.construct", "it runs no command")
	}
	name, args := c.words[0], p.arguments(p.workspace, c)
	if args.blocked {
		return args
	}
	for _, allowed := range p.commands {
		if name != allowed {
			continue
		}
		return medium("command.allowlist", "runs %s, which is on the allowlist", name)
	}
	return high("command.unlisted", "%+q is not on the allowlist", bounded(name))
}

// arguments judges every word of a listed command that could be a path: the words themselves, and what stands behind the =
// or the letter of an option.
func (p *Policy) arguments(dir string, c command) finding {
	verdict := finding{}
	for _, w := range c.words[1:] {
		for _, candidate := range candidates(w) {
			if f := p.pathFrom(dir, candidate, reading); f.blocked && (f.rule != "path.invalid" || candidate == w) {
				verdict = stricter(verdict, f)
			}
		}
	}
	return verdict
}

// candidates are the paths that a word may mean to a program.
func candidates(word string) []string {
	if word == "" || word == "-" || word == "--" {
		return nil
	}
	if !strings.HasPrefix(word, "-") {
		out := []string{word}
		if _, v, ok := strings.Cut(word, "="); ok && v != "" {
			out = append(out, v)
		}
		return out
	}
	if _, v, ok := strings.Cut(word, "="); ok && v != "" {
		return []string{v}
	}
	var out []string
	if !strings.HasPrefix(word, "--") {
		// behind which letter of a cluster the value begins depends on the program: each place is tried
		for i := 2; i < min(len(word), 32); i++ {
			out = append(out, word[i:])
		}
	}
	return out
}
