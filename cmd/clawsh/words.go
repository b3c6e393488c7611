package main

import (
	"slices"
	"strings"

	"clawsh/lib/envelope"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// reserved are words that will be commands: whoever types one of them alone does not mean to ask a model about it.
var reserved = strings.Fields(`sop skill plugin mcp gateway service schedule approval resume metrics trace artifact review job model
	list-sessions delete-session load-session flush-transcript show-command show-tool exec-command exec-tool route bootstrap command-graph tool-pool
	bootstrap-graph turn-loop`)

// misspelt refuses what is nearly a command, or will be one, which would cost a model call to find out.
func misspelt(words []string) error {
	first := words[0]
	send := "to send it as a message: clawsh -m " + terminal.Escape(first)
	switch {
	case len(words) > 1:
		if near := nearTwo(words); near != "" {
			return envelope.Errorf(envelope.ExitUsage, "usage", "unknown command %q",
				terminal.Escape(strings.Join(words[:2], " "))).
				WithHint("did you mean clawsh %s? To send it as a message, quote it: clawsh \"…\"", near)
		}
		return nil
	case strings.ContainsAny(first, " \n\t"):
		return nil
	case slices.Contains(reserved, first):
		return envelope.Errorf(envelope.ExitUsage, "usage", "%q is reserved for a command that does not exist yet",
			first).WithHint("%s", send)
	}
	meant := nearOne(first)
	if len(meant) == 0 {
		return nil
	}
	return envelope.Errorf(envelope.ExitUsage, "usage", "unknown command %q", terminal.Escape(first)).
		WithHint("did you mean clawsh %s? T%s", strings.Join(meant, " or clawsh "), send[1:])
}

// nearOne are the commands that a word alone may be meant to be: one of nearly this name, or all that have it behind a
// group's.
func nearOne(word string) []string {
	firsts, full := []string{"help", "completion"}, map[string][]string{"version": {"--version"}}
	for _, c := range commands() {
		words := strings.Fields(c.Name)
		if len(words) == 0 || c.Hidden {
			continue
		}
		firsts = append(firsts, words[0])
		if len(words) > 1 && len(words[1]) > 4 { // "run" and "list" are short enough to be meant
			full[words[1]] = append(full[words[1]], c.Name)
		}
	}
	if meant := full[word]; len(meant) > 0 {
		return meant
	}
	if near := spelling.Nearest(word, firsts, 1); near != "" && near != word {
		return []string{near}
	}
	return nil
}

// nearTwo is the command of two words that the first two words are nearly, or "".
func nearTwo(words []string) string {
	for _, c := range commands() {
		if w := strings.Fields(c.Name); len(w) == 2 && spelling.Nearest(words[0], w[:1], 2) != "" &&
			spelling.Nearest(words[1], w[1:], 1) != "" {
			return c.Name
		}
	}
	return ""
}
