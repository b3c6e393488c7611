package policy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// maxExpansion is how much text, that of the variables in it included, expansions that compute are made of: replacing makes of
// two texts one as long as their product.
const maxExpansion = 1 << 10

// assignedText expands a word as an assignment does, without splitting it and without patterns.
func (e effort) assignedText(w *syntax.Word, vars lookup) (text string, ok bool) {
	if !e.followed(w, vars) {
		return "", false
	}
	defer unexpandable(&ok)
	pieces, ok := expandParts(w.Parts, vars, false)
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.text)
	}
	return b.String(), ok && utf8.ValidString(b.String()) && !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		lit, is := p.(*syntax.Lit)
		return is && strings.Contains(lit.Value, `\`)
	})
}

// unexpandable recovers from patterns for which there is no expression: the interpreter ends, too.
func unexpandable(ok *bool) {
	if recover() != nil {
		*ok = false
	}
}

// followed tells whether a word depends on the values of known variables and on nothing else, and is short enough.
func (e effort) followed(w *syntax.Word, vars lookup) bool {
	ok, computes, size := true, 0, int(w.End().Offset()-w.Pos().Offset())
	e.walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			text, known := vars(name(n))
			size += len(text)
			if ok = ok && known; n.Repl != nil || n.Exp != nil {
				computes++
			}
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob, *syntax.ArithmExp:
			ok = false
		}
		return ok
	})
	if computes > 0 {
		e.spend(min(size, maxExpansion) * min(size, maxExpansion) / 32)
	}
	return ok && (computes == 0 && size <= maxScriptBytes || size <= maxExpansion && computes <= 1 || size<<computes <= maxExpansion)
}

// operated is what ${name…} becomes of a value, as the interpreter has it: its own package cannot be linked here, since it
// starts programs. A test compares the two.
func operated(n *syntax.ParamExp, text string, vars lookup) (string, bool) {
	if n.Flags != nil || n.Excl || n.Width || n.IsSet || n.NestedParam != nil || n.Index != nil || n.Modifiers != nil || n.Names != 0 {
		return "", false
	}
	switch {
	case n.Length:
		return strconv.Itoa(utf8.RuneCountInString(text)), true
	case n.Slice != nil:
		return sliced(n.Slice, []rune(text))
	case n.Repl != nil:
		return replaced(n.Repl, text, vars)
	case n.Exp != nil:
		arg, ok := plainText(n.Exp.Word, vars, false)
		if !ok {
			return "", false
		}
		return applied(n.Exp.Op, text, arg)
	}
	return text, true
}

func sliced(s *syntax.Slice, text []rune) (string, bool) {
	at := func(x syntax.ArithmExpr) (int, bool) {
		n, ok := constant(x)
		if n < 0 {
			if n += len(text); n < 0 {
				n = len(text)
			}
		}
		return n, ok
	}
	if s.Offset != nil {
		n, ok := at(s.Offset)
		if !ok {
			return "", false
		}
		text = text[min(n, len(text)):]
	}
	if s.Length != nil {
		n, ok := at(s.Length)
		if !ok {
			return "", false
		}
		text = text[:min(n, len(text))]
	}
	return string(text), true
}

// constant is a plain number.
func constant(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		lit := x.Lit()
		n, err := strconv.Atoi(lit)
		return n, err == nil && isNumber(lit) && (lit == "0" || lit[0] != '0')
	case *syntax.UnaryArithm:
		n, ok := constant(x.X)
		return -n, ok && x.Op == syntax.Minus
	}
	return 0, false
}

func replaced(r *syntax.Replace, text string, vars lookup) (string, bool) {
	orig, ok := plainText(r.Orig, vars, true)
	with, ok2 := plainText(r.With, vars, false)
	if !ok || !ok2 || orig == "" {
		return text, ok && ok2
	}
	expr, err := pattern.Regexp(orig, 0)
	if err != nil {
		return text, true
	}
	n := 1
	if r.All {
		n = -1
	}
	var b strings.Builder
	last := 0
	for _, at := range regexp.MustCompile(expr).FindAllStringIndex(text, n) {
		b.WriteString(text[last:at[0]] + with)
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String(), b.Len() <= maxScriptBytes
}

func applied(op syntax.ParExpOperator, text, arg string) (string, bool) {
	switch op {
	case syntax.AlternateUnsetOrNull:
		if text == "" {
			return text, true
		}
		return arg, true
	case syntax.AlternateUnset:
		return arg, true
	case syntax.DefaultUnset, syntax.ErrorUnset:
		if text == "" && op == syntax.ErrorUnset {
			return "", false
		}
		return text, true
	case syntax.DefaultUnsetOrNull:
		if text == "" {
			return arg, true
		}
		return text, true
	case syntax.ErrorUnsetOrNull:
		return text, text != ""
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return removed(op, text, arg), true
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return cased(op, text, arg), true
	}
	return "", false
}

func removed(op syntax.ParExpOperator, text, pat string) string {
	shortest := op == syntax.RemSmallPrefix || op == syntax.RemSmallSuffix
	mode := pattern.Mode(0)
	if shortest {
		mode = pattern.Shortest
	}
	expr, err := pattern.Regexp(pat, mode)
	if err != nil {
		return text
	}
	switch {
	case op == syntax.RemSmallSuffix:
		expr = ".*(" + expr + ")$"
	case op == syntax.RemLargeSuffix:
		expr = "(" + expr + ")$"
	default:
		expr = "^(" + expr + ")"
	}
	if at := regexp.MustCompile(expr).FindStringSubmatchIndex(text); at != nil {
		return text[:at[2]] + text[at[3]:]
	}
	return text
}

func cased(op syntax.ParExpOperator, text, pat string) string {
	change := unicode.ToLower
	if op == syntax.UpperFirst || op == syntax.UpperAll {
		change = unicode.ToUpper
	}
	expr, err := pattern.Regexp(pat, 0)
	if err != nil {
		return text
	}
	re := regexp.MustCompile(expr)
	runes := []rune(text)
	for i, r := range runes {
		if re.MatchString(string(r)) {
			runes[i] = change(r)
		}
		if op == syntax.UpperFirst || op == syntax.LowerFirst {
			break
		}
	}
	return string(runes)
}

// plainText is a word in an expansion, with what is quoted in it also quoted as a pattern if it is one.
func plainText(w *syntax.Word, vars lookup, isPattern bool) (string, bool) {
	if w == nil {
		return "", true
	}
	var b strings.Builder
	for i, part := range w.Parts {
		lit, isLit := part.(*syntax.Lit)
		if isLit {
			if i == 0 && strings.HasPrefix(lit.Value, "~") {
				return "", false
			}
			b.WriteString(lit.Value)
			continue
		}
		pieces, ok := expandParts([]syntax.WordPart{part}, vars, false)
		if !ok {
			return "", false
		}
		for _, p := range pieces {
			if isPattern && p.quoted {
				p.text = pattern.QuoteMeta(p.text, 0)
			}
			b.WriteString(p.text)
		}
	}
	return b.String(), true
}
