package provider

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"clawsh/lib/record"
)

// aboutFiles are the words at which the built-in script lists the workspace.
var aboutFiles = []string{"file", "files", "folder", "folders", "directory", "directories", "dir", "list", "ls",
	"project", "workspace"}

// maxEchoBytes limits how much of a message the built-in script repeats.
const maxEchoBytes = 400

// builtin is the script of a mock without a fixture. Asked about files it calls file_list, if that is offered, and
// answers from the result; it never pretends to be more than a mock.
func builtin(req *record.Request) *step {
	last, question := record.Message{}, ""
	for _, m := range req.Messages {
		last = m
		if m.Role == "user" {
			question = strings.Trim(m.Content, "\n")
		}
	}
	result := strings.Trim(last.Content, "\n")
	switch {
	case last.Role == "tool" && last.IsError:
		return say("This is clawsh's built-in mock model. I tried to list the files, but: %s", result)
	case last.Role == "tool" && result == "":
		return say("This is clawsh's built-in mock model. The workspace is empty.")
	case last.Role == "tool":
		return say("This is clawsh's built-in mock model. The workspace holds:\n%s", result)
	case asksForFiles(question) && offers(req, "file_list"):
		return &step{ToolCalls: []stepCall{{Name: "file_list", Args: record.Raw(`{"path":"."}`)}}}
	}
	if echo := record.Cut(question, maxEchoBytes); echo != question {
		question = echo + "…"
	}
	return say("This is clawsh's built-in mock model: it can list files, but it cannot think. You said: %s", question)
}

func say(format string, args ...any) *step {
	text := fmt.Sprintf(format, args...)
	return &step{FinalText: &text}
}

func offers(req *record.Request, tool string) bool {
	return slices.ContainsFunc(req.Tools, func(t record.Tool) bool { return t.Name == tool })
}

func asksForFiles(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(aboutFiles, w) })
}
