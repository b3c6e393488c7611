package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"clawsh/lib/card"
)

// Bounds of a search.
const (
	defaultMatches  = 100
	maxMatches      = 1000 // as the card has it
	maxPatternBytes = 1000
	maxPatternSteps = 3000      // of the compiled pattern: each byte of a line may take as many
	maxSearched     = 50_000    // files
	maxSearchBytes  = 256 << 20 // in all
	maxSearchLine   = 64 << 10  // of a line that is looked at
	maxMatchBytes   = 300       // of a line that is shown
)

// searchFiles finds lines in the text files of the workspace.
func searchFiles(ctx context.Context, a card.SearchArgs, env *Env) Result {
	s, err := newSearch(ctx, a, env)
	if err != nil {
		return failf("%v", err)
	}
	if a.Path == "" {
		a.Path = "."
	}
	if err := s.start(a.Path); err != nil {
		return failed(err, "search %q: %v", a.Path)
	}
	r := Result{Success: true}
	text := s.text()
	r.setFound(text, env)
	r.Meta.Withheld += min(s.withheld, strings.Count(text, noteHead))
	return r
}

func newSearch(ctx context.Context, a card.SearchArgs, env *Env) (*search, error) {
	s := &search{ctx: ctx, env: env, most: defaultMatches, around: a.Context}
	if a.Limit != nil {
		s.most = *a.Limit
	}
	switch {
	case a.Pattern == "":
		return nil, errors.New("invalid arguments: the pattern is empty")
	case len(a.Pattern) > maxPatternBytes:
		return nil, fmt.Errorf("invalid arguments: the pattern has more than %d bytes", maxPatternBytes)
	}
	expr := a.Pattern
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	var err error
	if s.pattern, err = compilePattern(expr); err != nil {
		return nil, fmt.Errorf("invalid arguments: pattern: %w", err)
	}
	if a.Glob != "" {
		s.deep = strings.Contains(strings.TrimPrefix(a.Glob, "/"), "/")
		if s.glob, err = compileGlob(strings.TrimPrefix(a.Glob, "/"), true); err != nil {
			return nil, fmt.Errorf("invalid arguments: glob: %w", err)
		}
	}
	return s, nil
}

// compilePattern compiles a pattern that a line can be looked through for in time. Nothing can end that in the middle
// of a line.
func compilePattern(expr string) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w (RE2 syntax: no lookaround, no back references; escape ( [ { . * + ? with \\)", err)
	}
	if n := steps(tree); n > maxPatternSteps {
		return nil,
			fmt.Errorf("its repetitions make it too large: {m,n} counts n times, which makes %d, and the limit is %d",
				n, maxPatternSteps)
	}
	return regexp.Compile(expr)
}

// steps estimates the size of a compiled pattern, before that takes its time.
func steps(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 1<<30)
}
