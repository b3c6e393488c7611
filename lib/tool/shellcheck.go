package tool

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxCommandBytes = 64 << 10
	maxNesting      = 100
)

// parseCommand parses a command after a scan that bounds what the parser does not bound itself, and refuses what the
// interpreter does not support, so that a command fails before any of it ran.
func parseCommand(src string) (*syntax.File, error) {
	if err := scanCommand(src); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, fmt.Errorf("syntax error: %w", err)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if err == nil && n != nil {
			if what := unsupported(n); what != "" {
				err = fmt.Errorf("not supported here: %s (line %d)", what, n.Pos().Line())
			}
		}
		return err == nil
	})
	return file, err
}

// scanCommand counts brackets without regard to quotes: it errs to the strict side for all but texts made to deceive
// it, which the bound of the size keeps to seconds.
func scanCommand(src string) error {
	if strings.TrimSpace(src) == "" {
		return errors.New("the command is empty")
	}
	if len(src) > maxCommandBytes {
		return fmt.Errorf("the command has %d bytes, the limit is %d: write it to a file and run that", len(src),
			maxCommandBytes)
	}
	if !utf8.ValidString(src) {
		return errors.New("the command is not valid UTF-8")
	}
	depth := 0
	for _, r := range src {
		switch {
		case r == '(' || r == '{' || r == '[':
			depth++
		case (r == ')' || r == '}' || r == ']') && depth > 0:
			depth--
		case unicode.IsControl(r) && r != '\n' && r != '\t', unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			return fmt.Errorf("the command holds the invisible character %U", r)
		}
		if depth > maxNesting {
			return fmt.Errorf("the command nests more than %d brackets", maxNesting)
		}
	}
	return nil
}

func unsupported(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Stmt:
		switch {
		case n.Coprocess:
			return "coproc"
		case n.Background, n.Disown:
			return "background jobs (&): everything that a command starts ends with it"
		}
	case *syntax.CoprocClause:
		return "coproc"
	case *syntax.ProcSubst:
		return "process substitution <(…), use a pipe or a file"
	case *syntax.Redirect:
		return unsupportedRedirect(n)
	case *syntax.CallExpr:
		return unsupportedPrefix(n)
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if n.Variant.Value == "export" && a.Naked && a.Value != nil && a.Value.Lit() == "-n" {
				return "export -n: unset the variable and set it again"
			}
		}
	}
	return ""
}

// unsupportedPrefix finds a variable that is set twice in front of a command: the interpreter would keep the first
// value after it.
func unsupportedPrefix(c *syntax.CallExpr) string {
	have := map[string]bool{}
	for _, a := range c.Assigns {
		if len(c.Args) > 0 && have[a.Name.Value] {
			return "setting " + quoteName(a.Name.Value) + " twice in front of a command"
		}
		have[a.Name.Value] = true
	}
	return ""
}

func unsupportedRedirect(r *syntax.Redirect) string {
	if r.N != nil && r.N.Value != "0" && r.N.Value != "1" && r.N.Value != "2" {
		return "redirections of descriptors other than 0, 1 and 2"
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.DplOut, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc,
		syntax.RdrAll, syntax.AppAll:
		return ""
	}
	return "the redirection " + r.Op.String()
}

// checkBuiltin looks at builtins that parse text or look for files past the handlers. They may be called through
// command and builtin.
func (s *shell) checkBuiltin(argv []string) error {
	find := false
	for len(argv) > 1 && (argv[0] == "command" || argv[0] == "builtin") {
		argv = argv[1:]
		for len(argv) > 1 && strings.HasPrefix(argv[0], "-") {
			find = find || argv[0] == "-v"
			argv = argv[1:]
		}
	}
	switch argv[0] {
	case "eval":
		if text := strings.Join(argv[1:], " "); strings.TrimSpace(text) != "" {
			_, err := parseCommand(text)
			return err
		}
	case "trap":
		for _, a := range argv[1:] {
			if strings.TrimSpace(a) == "" || strings.HasPrefix(a, "-") {
				continue
			}
			if _, err := parseCommand(a); err != nil {
				return err
			}
		}
	case "source", ".":
		return errors.New("not supported here: write its commands into the command itself")
	case "printf":
		if len(argv) > 1 && strings.HasPrefix(argv[1], "-v") {
			return errors.New("not supported here: printf -v; write name=$(printf …)")
		}
	case "alias":
		return errors.New("not supported here: use a function")
	case "type":
		find = true
	}
	if find {
		return s.checkLookups(argv)
	}
	return nil
}

// checkLookups keeps names with a slash from telling what is outside the workspace.
func (s *shell) checkLookups(names []string) error {
	for _, name := range names {
		if strings.Contains(name, "/") {
			if _, _, err := s.locate(s.ws.real, filepath.Clean(name)); err != nil {
				return fmt.Errorf("%q %w", name, err)
			}
		}
	}
	return nil
}
