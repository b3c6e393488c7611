package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/policy/programs"
)

// condition judges [[ … ]].
func (j *judge) condition(x syntax.TestExpr, s *state) finding {
	switch x := x.(type) {
	case *syntax.Word:
		return j.inner(x, s)
	case *syntax.ParenTest:
		return j.condition(x.X, s)
	case *syntax.UnaryTest:
		switch x.Op {
		case syntax.TsNot:
			return j.condition(x.X, s)
		case syntax.TsEmpStr, syntax.TsNempStr:
			return j.condition(x.X, s)
		case syntax.TsVarSet, syntax.TsRefVar, syntax.TsOptSet, syntax.TsFdTerm:
			return opaque("%s examines a variable by name", x.Op)
		}
		w, ok := x.X.(*syntax.Word)
		if !ok {
			return opaque("it tests something that is not a file")
		}
		return j.files(w, s)
	case *syntax.BinaryTest:
		f := stricter(j.condition(x.X, s), j.condition(x.Y, s))
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			return stricter(f, j.numbers(s, x.X, x.Y))
		case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					vs, wf := j.become(w, s, understood)
					f = stricter(f, j.fileNames(vs, wf, s))
				}
			}
		}
		return f
	}
	return opaque("it uses an unsupported test")
}

// files judges a word that is the name of a file which is looked at.
func (j *judge) files(w *syntax.Word, s *state) finding {
	vs, f := j.words(w, s)
	return j.fileNames(vs, f, s)
}

func (j *judge) fileNames(vs []value, f finding, s *state) finding {
	for _, v := range vs {
		f = stricter(f, j.operand(v, programs.Read, s))
	}
	return f
}

// numbers judges the sides of a comparison of numbers: anything else is evaluated.
func (j *judge) numbers(s *state, sides ...syntax.TestExpr) finding {
	f := understood
	for _, side := range sides {
		w, ok := side.(*syntax.Word)
		if !ok {
			return opaque("it compares something that is not a number")
		}
		vs, wf := j.become(w, s, understood)
		f = stricter(f, wf)
		for _, v := range vs {
			if !v.numeric() && !(v.known && isNumber(strings.TrimPrefix(v.text, "-"))) {
				f = stricter(f,
					opaque("it compares numerically a value that may not be a number, and would be evaluated"))
			}
		}
	}
	return f
}

// arithmetic judges an expression: numbers, variables that hold numbers, and what is computed of them.
func (j *judge) arithmetic(x syntax.ArithmExpr, s *state) finding {
	switch x := x.(type) {
	case nil:
		return understood
	case *syntax.ParenArithm:
		return j.arithmetic(x.X, s)
	case *syntax.UnaryArithm:
		f := j.arithmetic(x.X, s)
		if name, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			s.set(name.Lit(), value{number: true})
		}
		return f
	case *syntax.BinaryArithm:
		if name, ok := x.X.(*syntax.Word); ok && assigns(x.Op) {
			f := stricter(variable(name.Lit()), j.arithmetic(x.Y, s))
			s.set(name.Lit(), value{number: true})
			return f
		}
		return stricter(j.arithmetic(x.X, s), j.arithmetic(x.Y, s))
	case *syntax.Word:
		if name := x.Lit(); name != "" && syntax.ValidName(name) {
			if v, ok := s.vars[name]; ok && v.numeric() {
				return understood
			}
			return opaque("it computes with %+q, whose value would be evaluated", bounded(name))
		}
		vs, f := j.words(x, s)
		for _, v := range vs {
			if !v.numeric() {
				return stricter(f, opaque("it computes with a value that may not be a number, and would be evaluated"))
			}
		}
		return f
	}
	return opaque("it uses unsupported arithmetic")
}

// assigns tells whether an operator changes the variable on its left.
func assigns(op syntax.BinAritOperator) bool {
	return slices.Contains([]syntax.BinAritOperator{syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn,
		syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn, syntax.AndBoolAssgn,
		syntax.OrBoolAssgn, syntax.XorBoolAssgn,
		syntax.PowAssgn}, op)
}
