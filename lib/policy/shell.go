package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a script. The parser has none of its own: a million brackets would end the process. Five hundred cost it
// some milliseconds.
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

// name is the base name of the command word, in lower case, since some file systems take RM for rm. Where a part of the
// word is only known at run time, it is the name for the case that this part is empty.
func (c command) name() string {
	if len(c.words) == 0 {
		return ""
	}
	return strings.ToLower(base(c.words[0]))
}

func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// script judges the text of a script.
func (p *Policy) script(text string, e effort) finding {
	return p.scriptAt(text, e, p.start())
}

// scriptAt judges a script that begins in a state.
func (p *Policy) scriptAt(text string, e effort, s *state) finding {
	if !e.spend(len(text)) {
		return e.tooComplex()
	}
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
	verdict := p.everywhere(file, e)
	if strings.TrimSpace(text) == "pwd" && !verdict.blocked {
		return low("command.harmless", "pwd only prints the directory")
	}
	j := &judge{on: p, src: text, effort: e}
	verdict = stricter(stricter(verdict, j.list(file.Stmts, s)), e.tooComplex())
	switch {
	case verdict.rank() > 1:
		return verdict
	case verdict.rank() < 1 && p.harmless:
		return low("command.harmless", "only reads inside the workspace, by %s", commands(j.names))
	}
	if len(j.free) > 0 {
		return medium("command.listed",
			"runs %s inside the workspace; with %q that can be any code, inside the sandbox", commands(j.names),
			bounded(j.free[0]))
	}
	return medium("command.allowlist", "runs %s inside the workspace", commands(j.names))
}

// commands lists the programs that a script runs.
func commands(names []string) string {
	if len(names) == 0 {
		return "only the shell itself"
	}
	return strings.Join(names, ", ")
}

// unsafeBytes refuses what people, parsers and shells read differently, before anything is parsed. Brackets are
// counted, not matched: that cannot be deceived by quotes, and nobody needs so many.
func unsafeBytes(text string) finding {
	if len(text) > maxScriptBytes || !utf8.ValidString(text) {
		return blocked("shell.unsafe_bytes", "the command is longer than %d bytes, or not UTF-8", maxScriptBytes)
	}
	brackets := 0
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Zs, r) &&
			r != ' ' || blank(r):
			return blocked("shell.unsafe_bytes", "the command contains the invisible character %U", r)
		case strings.ContainsRune("({`[", r):
			if brackets++; brackets > maxBrackets {
				return blocked("shell.unsafe_bytes", "the command contains more than %d brackets", maxBrackets)
			}
		}
	}
	return finding{}
}

// blank tells whether a letter looks like nothing at all.
func blank(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return r >= 0xe0100 && r <= 0xe01ef
}

// everywhere looks at all that the script shows, however deep it stands, for what is blocked.
func (p *Policy) everywhere(file *syntax.File, e effort) finding {
	verdict := finding{}
	seen, marks, functions := map[*syntax.BinaryCmd]bool{}, survey(file, e), declared(file, e)
	e.walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			verdict = stricter(verdict, p.fed(n, marks, e))
			verdict = stricter(verdict, intoProcess(n, marks))
		case *syntax.CallExpr:
			verdict = stricter(verdict, p.forbiddenCommand(e.wordsOf(n), e))
			verdict = stricter(verdict, runsDownload(n, marks))
		case *syntax.BinaryCmd:
			verdict = stricter(verdict, p.pipeline(n, marks, seen, e))
		case *syntax.FuncDecl:
			verdict = stricter(verdict, forkBomb(n, functions, e))
		}
		return !verdict.blocked
	})
	return stricter(verdict, e.tooComplex())
}

// movers change what the paths of the commands behind them mean.
var movers = []string{"cd", "pushd", "popd"}
