package main

import (
	"fmt"
	"strings"

	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

const (
	foldedLines = 5  // of what a tool said
	foldedDiff  = 12 // of what an edit changed
)

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
			first += fmt.Sprintf(" … %s", count(n, "more line"))
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

// folded are the first lines of what a tool said, safe to show, and how many more there are.
func folded(tool, output string) []string {
	most := foldedLines
	if tool == "file_edit" {
		most = foldedDiff
	}
	output = strings.Trim(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	if strings.TrimSpace(output) == "" {
		return nil
	}
	lines := strings.Split(output, "\n")
	more := len(lines) - most
	if more > 1 { // one line more takes no more room than to say so
		lines = lines[:most]
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(terminal.Sanitize(l), "\t", "    ")
	}
	if more > 1 {
		lines = append(lines, "… "+count(more, "more line"))
	}
	return lines
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
