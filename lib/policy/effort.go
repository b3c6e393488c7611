package policy

import (
	"context"

	"mvdan.cc/sh/v3/syntax"
)

// maxSteps bounds what judging one command may take: parsing, unwrapping, following, looking at files, the scripts in
// it included. A step is a byte that is parsed, a node or word that is looked at; a look at the file system is several.
// What people write takes a few thousand.
const maxSteps = 1 << 19

// maxStatements bounds how many statements are followed, those of loops each time: behind it a script is opaque, not
// blocked.
const maxStatements = 4000

// effort is what is left for judging a command, shared by all scripts in it, and how deep in each other they are.
type effort struct {
	*spent
	level int
}

type spent struct {
	steps, statements int
	listed            int                // of the steps those for directories
	ctx               context.Context    // whoever waits for the verdict
	looked            int                // how often steps were taken
	cancelled         bool               // nobody waits for the verdict any more
	listings          map[string]listing // directories that were read
	texts             map[string]finding // scripts in words that were judged, by their depth and text
}

// effortFor is the effort of a verdict that somebody waits for. It ends when nobody does any more.
func effortFor(ctx context.Context) effort {
	return effort{spent: &spent{ctx: ctx, texts: map[string]finding{}, listings: map[string]listing{}}}
}

// deeper is the effort of a script in this one.
func (e effort) deeper() effort { return effort{e.spent, e.level + 1} }

// spend takes steps, and tells whether any are left.
func (e effort) spend(n int) bool {
	if e.steps <= maxSteps {
		e.steps += n
	}
	if e.looked++; e.looked%1024 == 0 {
		e.awaited()
	}
	return e.steps <= maxSteps
}

// awaited leaves no steps once nobody waits for the verdict any more.
func (e effort) awaited() {
	if e.ctx.Err() != nil {
		e.cancelled, e.steps = true, maxSteps+1
	}
}

// list takes the steps of reading directories. Each may take long, on a slow disk or over a network.
func (e effort) list(n int) bool {
	e.listed += n
	e.awaited()
	return e.spend(n)
}

// ended tells whether judging is over: no steps are left, or what was found cannot become stricter.
func (e effort) ended(f finding) bool { return f.blocked || e.steps > maxSteps }

// tooComplex blocks what could not be judged in the steps that there are.
func (e effort) tooComplex() finding {
	if e.steps <= maxSteps {
		return finding{}
	}
	if e.cancelled {
		return blocked("cancelled", "nobody is waiting for the verdict any more")
	}
	if e.listed > maxSteps/2 {
		return blocked("shell.complex",
			"judging the command takes more than %d steps, most of them to search directories: "+
				"name smaller ones, one per call", maxSteps)
	}
	return blocked("shell.complex",
		"judging the command takes more than %d steps: split it into simpler commands, or write a file", maxSteps)
}

// walk visits the nodes of a script as long as there are steps.
func (e effort) walk(n syntax.Node, visit func(syntax.Node) bool) {
	syntax.Walk(n, func(n syntax.Node) bool { return e.spend(1) && visit(n) })
}

// remembered judges a text once for each depth.
func (e effort) remembered(text string, judge func() finding) finding {
	key := string(rune('0'+e.level)) + text
	f, ok := e.texts[key]
	if !ok {
		f = judge()
		e.texts[key] = f
	}
	return f
}

// unwrap is unwrap, for which steps are taken.
func (e effort) unwrap(c command) unwrapped {
	u := unwrap(c)
	for _, part := range u.commands {
		e.spend(1 + len(part.words)/4)
	}
	for _, text := range u.scripts {
		e.spend(len(text) / 8)
	}
	return u
}

// runs tells whether a statement is a command of some kind, wrapped or not.
func (e effort) runs(s *syntax.Stmt, is func(string) bool) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	return ok && e.unwrap(e.wordsOf(call)).runs(is)
}

// wordsOf is wordsOf, for which steps are taken.
func (e effort) wordsOf(c *syntax.CallExpr) command {
	words := wordsOf(c)
	for _, w := range words.words {
		e.spend(1 + len(w)/8)
	}
	return words
}

// lookAt takes the steps of following a path through directories.
func (e effort) lookAt(path string, dirs int) bool {
	parts := 1
	for _, c := range []byte(path) {
		if c == '/' {
			parts++
		}
	}
	return e.spend((40 + 10*parts) * max(dirs, 1))
}
