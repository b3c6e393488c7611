package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// fold is how many of the first and of the last lines of what a tool said are shown.
type fold struct{ head, tail int }

// foldOf is the fold of a call. What went wrong is told of at the end of an output; what an edit changed begins at the
// top.
func foldOf(tool string, failed bool) fold {
	switch {
	case failed:
		return fold{1, 5}
	case tool == "file_edit":
		return fold{9, 3}
	}
	return fold{3, 3}
}

// ran says in one line what a call runs: the command, the path, or its arguments.
func ran(tool string, args record.Raw) string {
	var a struct {
		Command *string `json:"command"`
		Path    *string `json:"path"`
		Pattern *string `json:"pattern"`
		URL     *string `json:"url"`
	}
	if record.DecodeOpen(args, &a) != nil {
		return string(args)
	}
	switch {
	case tool == "shell" && a.Command != nil:
		first, more, _ := strings.Cut(strings.TrimSpace(*a.Command), "\n")
		if n := strings.Count(more, "\n") + 1; more != "" {
			first += fmt.Sprintf(" … %s", spelling.Count(n, "more line"))
		}
		return first
	case tool == "file_search" && a.Pattern != nil && a.Path != nil:
		return *a.Pattern + " in " + *a.Path
	case tool == "file_search" && a.Pattern != nil:
		return *a.Pattern
	case strings.HasPrefix(tool, "file_") && a.Path != nil:
		return *a.Path
	case tool == "http" && a.URL != nil:
		return *a.URL
	case string(args) == "{}":
		return ""
	}
	return string(args)
}

// folded are the first and the last lines of what a tool said, safe to show, and between them how many more there are.
func folded(f fold, output string) []string {
	output = strings.Trim(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	if strings.TrimSpace(output) == "" {
		return nil
	}
	lines := strings.Split(output, "\n")
	more := len(lines) - f.head - f.tail
	if more > 1 { // one line more takes no more room than to say so
		lines = slices.Concat(lines[:f.head], []string{"… " + spelling.Count(more, "more line")},
			lines[len(lines)-f.tail:])
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(terminal.Sanitize(l), "\t", "    ")
	}
	return lines
}

// becameOf says in a few words what became of a call that was not allowed or failed; "" if it did what it was to do.
func becameOf(r record.ToolResult) string {
	if r.Verdict == nil || r.Verdict.Decision == record.Allow {
		return r.Error
	}
	switch reason := r.Verdict.Reason; {
	case strings.HasSuffix(reason, "; refused by the operator"):
		return "denied by you"
	case r.Verdict.Rule == "cancelled", interruptedAt(reason):
		return "interrupted"
	}
	return r.Error
}

// interruptedAt tells whether a question ended because whoever was asked, or a signal, ended the turn.
func interruptedAt(reason string) bool {
	_, why, asked := strings.Cut(reason, "; needs approval, but got none: ")
	return asked && slices.ContainsFunc([]string{context.Canceled.Error(), "interrupted", "terminated"},
		func(end string) bool {
			return strings.HasSuffix(why, end)
		})
}

// took is a duration for people; "" if nobody would have noticed it.
func took(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < 100*time.Millisecond:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
