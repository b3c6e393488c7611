package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"clawsh/lib/config"
	"clawsh/lib/edit"
	"clawsh/lib/place"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// maxShown bounds a diff: what is larger is shown as arguments.
const maxShown = 64 << 10

// shown is a call as a person sees it: text, and whether what it was made from is still so.
type shown struct {
	text  string
	still func() bool
}

// show shows the arguments of a call: the commands of a script on lines of their own, and a diff for what is written. All that is
// written is in it, but for lines of the file that stay as they are. Where that would not show every character as what it is, the
// arguments are shown as well: they are JSON, which does.
func (g *gate) show(call record.ToolCall) shown {
	s := shown{still: func() bool { return true }}
	args := "  args: " + terminal.Sanitize(string(call.Args)) + "\n"
	body, whole := "", false
	switch call.Tool {
	case "shell":
		if body, whole = script(call.Args); whole {
			return shown{body, s.still}
		}
	case "file_write", "file_edit":
		var c change
		if c, whole = g.change(call); c.body != "" {
			body, s.still = paint(c.body, g.colours()), c.still
		}
	}
	if !whole {
		body = args + body
	}
	s.text = body
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

// change is what a call makes of a file.
type change struct {
	body  string
	still func() bool
}

// change compares what a call writes with the file as it is. It is false if the arguments have to be shown.
func (g *gate) change(call record.ToolCall) (change, bool) {
	var a struct {
		Path    string      `json:"path"`
		Content *string     `json:"content"`
		Mode    string      `json:"mode"`
		Edits   []edit.Edit `json:"edits"`
	}
	if record.Decode(call.Args, &a) != nil {
		return change{}, false
	}
	name := terminal.Escape(a.Path)
	now, exists, err := present(g.config, a.Path)
	if err != nil {
		return change{body: "  " + name + ": " + terminal.Escape(err.Error()) + ", so there is no diff\n", still: func() bool { return true }}, false
	}
	text, exact := now, name == a.Path && plain(a.Path)
	switch {
	case call.Tool == "file_edit":
		if text, _, err = edit.Apply(now, a.Edits); err != nil {
			return change{body: "  this edit will fail: " + terminal.Sanitize(err.Error()) + "\n", still: func() bool { return true }}, false
		}
		for _, e := range a.Edits {
			exact = exact && plain(*e.New)
		}
	case a.Content == nil:
		return change{}, false
	case a.Mode == "append":
		text, exact = now+*a.Content, exact && plain(*a.Content)
	default:
		text, exact = *a.Content, exact && plain(*a.Content)
	}
	before := name + ", now"
	if !exists {
		before = "new file"
	}
	diff := edit.Diff(before, name, now, text)
	switch {
	case diff == "" && !exists:
		diff = "new file " + name + ", empty\n"
	case diff == "":
		diff = "nothing changes in " + name + "\n"
	case len(diff) > maxShown:
		return change{body: fmt.Sprintf("  %s: the diff has %s\n", name, spelling.Count(len(diff), "byte")), still: func() bool { return true }}, false
	}
	still := func() bool {
		again, there, err := present(g.config, a.Path)
		return err == nil && again == now && there == exists
	}
	return change{indented(terminal.Sanitize(diff)) + stays(now, diff), still}, exact && plainlyAdded(diff)
}

// plainlyAdded tells whether each line that a diff adds is shown as what it is: an edit may join plain text to a rest that is not.
func plainlyAdded(diff string) bool {
	for line := range strings.Lines(diff) {
		if line[0] == '+' && !plain(line[1:]) {
			return false
		}
	}
	return true
}

// ruleIdle allows an edit that does not fit the file as it is: nobody is asked about what changes nothing. It is permitted at low
// risk, at which claw-exec writes nothing, should the file have changed by then.
const ruleIdle = "edit.idle"

// idle tells whether a call is an edit of a text that is not in its file, or is there more often than once.
func (g *gate) idle(call record.ToolCall) bool {
	var a struct {
		Path  string      `json:"path"`
		Edits []edit.Edit `json:"edits"`
	}
	if call.Tool != "file_edit" || record.Decode(call.Args, &a) != nil {
		return false
	}
	now, _, err := present(g.config, a.Path)
	if err != nil {
		return false
	}
	_, _, err = edit.Apply(now, a.Edits)
	return err != nil
}

// stays says how many lines of a file are not in a diff, because they stay.
func stays(now, diff string) string {
	seen := 0
	for line := range strings.Lines(diff) {
		if line[0] == ' ' || line[0] == '-' && !strings.HasPrefix(line, "--- ") {
			seen++
		}
	}
	lines := strings.Count(now, "\n")
	if now != "" && !strings.HasSuffix(now, "\n") {
		lines++
	}
	if lines <= seen {
		return ""
	}
	if lines-seen == 1 {
		return "    (1 other line is unchanged)\n"
	}
	return fmt.Sprintf("    (unchanged: %s)\n", spelling.Count(lines-seen, "other line"))
}

// present reads a text file of the workspace, and tells whether it exists. No link is followed.
func present(cfg *config.Config, path string) (text string, exists bool, err error) {
	if filepath.IsAbs(path) {
		rel, ok := place.Below(cfg.WorkspaceDir, path)
		if !ok {
			return "", false, errors.New("it is outside the workspace")
		}
		path = rel
	}
	root, err := os.OpenRoot(cfg.WorkspaceDir)
	if err != nil {
		return "", false, errors.New("the workspace cannot be read")
	}
	defer root.Close()
	if info, err := root.Stat("."); err != nil || !cfg.SameWorkspace(info) {
		return "", false, errors.New("another directory has replaced the workspace")
	}
	f, err := root.OpenFile(filepath.Clean(path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, errors.New("it cannot be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", false, errors.New("it is not a regular file")
	}
	most := int64(cfg.Limits.MaxFileBytes)
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return "", false, errors.New("it cannot be read")
	case int64(len(b)) > most:
		return "", false, fmt.Errorf("it has %s", spelling.Count(info.Size(), "byte"))
	case !utf8.Valid(b) || strings.IndexByte(string(b), 0) >= 0:
		return "", false, fmt.Errorf("it is binary (%s)", spelling.Count(len(b), "byte"))
	}
	return string(b), true, nil
}

// colours tells whether a diff is shown in colours (no-color.org).
func (g *gate) colours() bool {
	term := g.call.Getenv("TERM")
	return g.call.Getenv("NO_COLOR") == "" && term != "" && term != "dumb"
}

// paint colours the lines of a diff. The text is sanitised: it holds no sequence of its own.
func paint(text string, colours bool) string {
	if !colours {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		code := map[string]string{"    +": "32", "    -": "31", "    @": "36"}[line[:min(5, len(line))]]
		if code == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString("\x1b[" + code + "m" + strings.TrimSuffix(line, "\n") + "\x1b[0m\n")
	}
	return b.String()
}
