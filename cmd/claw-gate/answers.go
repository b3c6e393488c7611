package main

import (
	"slices"
	"strings"
)

// answer is one to a question.
type answer struct{ key, word, short, means string }

// approvals are the answers to the question whether a call may run.
func approvals(always bool) []answer {
	all := []answer{
		{"y", "yes", "yes, once", "run this call, once"},
		{"s", "session", "yes, and to the same call for the rest of the session", "run it, and do not ask about exactly the same call again in this session"},
		{"a", "always", "always, with a rule that is shown first", "show a rule that would always allow it; it is written only if you confirm it"},
		{"n", "no", "no (?: what each answer means)", "do not run it; the model is told that you refused"},
	}
	if !always {
		all = slices.Delete(all, 2, 3)
	}
	return all
}

// writings are the answers to the question whether a rule is to be written.
func writings() []answer {
	return []answer{
		{"y", "yes", "yes", "write the rule, and run the call"},
		{"n", "no", "no", "write nothing, and do not run the call"},
	}
}

// typed are the lines by which answers are given.
func typed(answers []answer) []string {
	var lines []string
	for _, a := range answers {
		lines = append(lines, a.key, a.word)
	}
	return lines
}

// again asks a question again after a slip: in few and short rows, so that what it is about stays on a small screen.
func again(answers []answer, question string) func(given string) string {
	return func(given string) string {
		if given == "?" {
			return listed(answers, func(a answer) string { return a.means }) + question
		}
		var keys []string
		for _, a := range answers {
			keys = append(keys, a.key)
		}
		last := len(keys) - 1
		return "  Answer " + strings.Join(keys[:last], ", ") + " or " + keys[last] + "; ? explains.\n" + question
	}
}

// listed is a row for each answer.
func listed(answers []answer, text func(answer) string) string {
	var b strings.Builder
	for _, a := range answers {
		b.WriteString("  " + a.key + ": " + text(a) + "\n")
	}
	return b.String()
}
