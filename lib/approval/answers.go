package approval

import (
	"slices"
	"strings"
)

// The keys of the answers.
const (
	Yes     = "y" // this call, once
	Session = "s" // and the same call for the rest of the session
	Always  = "a" // with a rule that is shown first
	No      = "n"
)

// Answer is one to a question: its key, the word for it, what it means in short and in full.
type Answer struct{ Key, Word, Short, Means string }

// approvals are the answers to the question whether a call may run.
func approvals(always bool) []Answer {
	all := []Answer{
		{Yes, "yes", "yes, once", "run this call, once"},
		{Session, "session", "yes, and to the same call for the rest of the session",
			"run it, and do not ask about exactly the same call again in this session"},
		{Always, "always", "always, with a rule that is shown first",
			"show a rule that would always allow it; it is written only if you confirm it"},
		{No, "no", "no (?: what each answer means)", "do not run it; the model is told that you refused"},
	}
	if !always {
		all = slices.Delete(all, 2, 3)
	}
	return all
}

// writings are the answers to the question whether a rule is to be written.
func writings() []Answer {
	return []Answer{
		{Yes, "yes", "yes", "write the rule, and run the call"},
		{No, "no", "no", "write nothing, and do not run the call"},
	}
}

// typed are the lines by which answers are given.
func typed(answers []Answer) []string {
	var lines []string
	for _, a := range answers {
		lines = append(lines, a.Key, a.Word)
	}
	return lines
}

// again asks a question again after a slip: in few and short rows, so that what it is about stays on a small screen.
func again(answers []Answer, question string) func(given string) string {
	return func(given string) string {
		if given == "?" {
			return listed(answers, func(a Answer) string { return a.Means }) + question
		}
		var keys []string
		for _, a := range answers {
			keys = append(keys, a.Key)
		}
		last := len(keys) - 1
		return "  Answer " + strings.Join(keys[:last], ", ") + " or " + keys[last] + "; ? explains.\n" + question
	}
}

// listed is a row for each answer.
func listed(answers []Answer, text func(Answer) string) string {
	var b strings.Builder
	for _, a := range answers {
		b.WriteString("  " + a.Key + ": " + text(a) + "\n")
	}
	return b.String()
}
