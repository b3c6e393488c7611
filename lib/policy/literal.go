package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wordsOf returns the words of a call after quote removal.
func wordsOf(c *syntax.CallExpr) command {
	var out command
	for _, w := range c.Args {
		text, ok := literal(w)
		out.words, out.literal = append(out.words, text), append(out.literal, ok)
	}
	return out
}

// literal returns a word as the program will see it, and whether that is certain: nothing in it is expanded.
func literal(w *syntax.Word) (string, bool) {
	if w.Lit() == "{}" { // no brace expansion: find's and xargs's place for a name
		return "{}", true
	}
	var b strings.Builder
	ok := true
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text, plain := unquoted(part.Value, i == 0)
			b.WriteString(text)
			ok = ok && plain
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
			ok = ok && !part.Dollar
		case *syntax.DblQuoted:
			ok = ok && !part.Dollar
			for _, inner := range part.Parts {
				lit, isLit := inner.(*syntax.Lit)
				if !isLit {
					ok = false
					if n, is := inner.(*syntax.ParamExp); is {
						b.WriteString(standIn(n))
					}
					continue
				}
				b.WriteString(doubleQuoted(lit.Value))
			}
		case *syntax.ParamExp:
			ok = false
			b.WriteString(standIn(part))
		default:
			ok = false
		}
	}
	return b.String(), ok
}

// standIn is a name for the directories that variables name, for the rules that look for what is blocked.
func standIn(n *syntax.ParamExp) string {
	switch name(n) {
	case "HOME":
		return "~"
	case "PWD":
		return "."
	}
	return ""
}

// unquoted removes the backslashes of text outside quotes. It is not certain where the shell would expand it: globs,
// braces, a tilde at its start.
func unquoted(s string, first bool) (string, bool) {
	var b strings.Builder
	plain := !(first && strings.HasPrefix(s, "~"))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[', '{', '}', '@', '+', '!':
			// @, + and ! only begin an extended glob, with a bracket behind them
			if c == '@' || c == '+' || c == '!' {
				plain = plain && !(i+1 < len(s) && s[i+1] == '(')
			} else {
				plain = false
			}
			b.WriteByte(c)
		case '=', ':':
			plain = plain && !(i+1 < len(s) && s[i+1] == '~')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), plain
}

// doubleQuoted removes the backslashes that mean something between double quotes.
func doubleQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
