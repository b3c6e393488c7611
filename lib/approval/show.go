package approval

import (
	"fmt"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// shown is a call as a person sees it: its arguments, or what they do to a file, and whether what that was made from is
// still so.
type shown struct {
	text  string // what is not a diff
	diff  string
	still func() bool
}

func still() bool { return true }

// show shows the arguments of a call: the commands of a script on lines of their own, and a diff for what is written.
// All that is written is in it, but for lines of the file that stay as they are. Where that would not show every
// character as what it is, the arguments are shown as well: they are JSON, which does.
func show(cfg *config.Config, call record.ToolCall) shown {
	s, whole := shown{still: still}, false
	switch call.Tool {
	case "shell":
		if s.text, whole = script(call.Args); whole {
			return s
		}
	case "file_write", "file_edit":
		s, whole = change(cfg, call)
	}
	if !whole {
		s.text = "  args: " + terminal.Sanitize(string(call.Args)) + "\n" + s.text
	}
	return s
}

// plain tells whether a text is shown as what it is, character by character.
func plain(text string) bool {
	if terminal.Sanitize(text) != text {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimRight(line, " \t") != line {
			return false // nobody sees them
		}
	}
	return true
}

// script shows a command on lines of its own.
func script(args record.Raw) (string, bool) {
	var a struct {
		Command  string   `json:"command"`
		TimeoutS *float64 `json:"timeout_s"`
	}
	if record.Decode(args, &a) != nil || !plain(a.Command) || a.Command == "" {
		return "", false
	}
	text := "  command:\n" + indented(a.Command)
	if a.TimeoutS != nil {
		text += fmt.Sprintf("  timeout_s: %g\n", *a.TimeoutS)
	}
	return text, true
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
