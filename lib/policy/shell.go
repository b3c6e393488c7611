package policy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a script. The parser has none of its own: a million brackets would end the process. Five hundred cost it some
// milliseconds.
const (
	maxScriptBytes = 64 << 10
	maxBrackets    = 500
	maxUnwrap      = 8
)

// command is one simple command that was found in a script: its words after quote removal, as far as they are literal.
type command struct {
	words   []string
	literal []bool // which words are what they look like
}

// name is the base name of the command word, in lower case, since some file systems take RM for rm. Where a part of the word
// is known only when it runs, it is the name for the case that this part is empty.
func (c command) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return strings.ToLower(base(c.words[0]))
}

func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// shell judges a script.
func (p *Policy) shell(a shellArgs) finding {
	if a.Command == nil {
		return missing("command")
	}
	return p.script(*a.Command, 0)
}

// script judges the text of a script; level counts how many scripts it was found in.
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
	verdict := p.everywhere(file, level)
	if strings.TrimSpace(text) == "pwd" && !verdict.blocked {
		return low("command.harmless", "pwd only tells the directory")
	}
	for _, s := range file.Stmts {
		verdict = stricter(verdict, p.statement(s))
	}
	return verdict
}

// unsafeBytes refuses what people, parsers and shells read differently, before anything is parsed. Brackets are counted, not
// matched: that cannot be deceived by quotes, and nobody needs so many.
func unsafeBytes(text string) finding {
	if len(text) > maxScriptBytes || !utf8.ValidString(text) {
		return blocked("shell.unsafe_bytes", "the command is longer than %d bytes, or not UTF-8", maxScriptBytes)
	}
	brackets := 0
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return blocked("shell.unsafe_bytes", "the command holds the character %U, which cannot be seen", r)
		case strings.ContainsRune("({`[", r):
			if brackets++; brackets > maxBrackets {
				return blocked("shell.unsafe_bytes", "the command holds more than %d brackets", maxBrackets)
			}
		}
	}
	return finding{}
}

// everywhere looks at all that the script shows, however deep it stands, for what is blocked.
func (p *Policy) everywhere(file *syntax.File, level int) finding {
	verdict := finding{}
	seen, marks := map[*syntax.BinaryCmd]bool{}, survey(file)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			verdict = stricter(verdict, p.redirections(n, marks, level))
		case *syntax.CallExpr:
			c := wordsOf(n)
			verdict = stricter(verdict, p.forbiddenCommand(c, level))
			verdict = stricter(verdict, runsDownload(n, marks))
			verdict = stricter(verdict, p.arguments(p.workspace, c))
		case *syntax.BinaryCmd:
			verdict = stricter(verdict, p.pipeline(n, marks, seen, level))
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
	return high("shell.construct", "it is %s", construct(s.Cmd))
}

// construct names a command that is not simple.
func construct(c syntax.Command) string {
	switch c.(type) {
	case *syntax.IfClause, *syntax.CaseClause, *syntax.TestClause:
		return "a condition"
	case *syntax.WhileClause, *syntax.ForClause:
		return "a loop"
	case *syntax.FuncDecl:
		return "a function"
	case *syntax.Subshell, *syntax.Block:
		return "a group of commands"
	case *syntax.ArithmCmd, *syntax.LetClause:
		return "arithmetic"
	case *syntax.DeclClause:
		return "a declaration"
	}
	return "more than simple commands"
}

// movers change what the paths of the commands behind them mean.
var movers = []string{"cd", "pushd", "popd"}

// simple judges one simple command by the allowlist. What a listed wrapper runs must be listed too.
func (p *Policy) simple(c command) finding {
	if slices.Contains(c.literal, false) {
		return high("shell.construct", "a word of it is known only when it runs")
	}
	if len(c.words) == 0 {
		return high("shell.construct", "it runs no command")
	}
	inner := unwrap(c)
	if len(inner.scripts) > 0 {
		return high("shell.construct", "%+q runs a text as a script", bounded(c.words[0]))
	}
	for _, part := range inner.commands {
		if name := part.words[0]; !slices.Contains(p.commands, name) || slices.Contains(movers, name) {
			return high("command.unlisted", "%+q is not on the allowlist", bounded(name))
		}
	}
	return medium("command.allowlist", "runs %s, which is on the allowlist", c.words[0])
}
