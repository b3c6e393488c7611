package approval

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

// change compares what a call writes with the file as it is. It is false if the arguments have to be shown.
func change(cfg *config.Config, call record.ToolCall) (shown, bool) {
	var a struct {
		Path    string      `json:"path"`
		Content *string     `json:"content"`
		Mode    string      `json:"mode"`
		Edits   []edit.Edit `json:"edits"`
	}
	if record.Decode(call.Args, &a) != nil {
		return shown{still: still}, false
	}
	name := terminal.Escape(a.Path)
	now, exists, err := present(cfg, a.Path)
	if err != nil {
		return shown{diff: "  " + name + ": " + terminal.Escape(err.Error()) + ", so there is no diff\n", still: still},
			false
	}
	text, exact := now, name == a.Path && plain(a.Path)
	switch {
	case call.Tool == "file_edit":
		if text, _, err = edit.Apply(now, a.Edits); err != nil {
			return shown{diff: "  this edit will fail: " + terminal.Sanitize(err.Error()) + "\n", still: still}, false
		}
		for _, e := range a.Edits {
			exact = exact && plain(*e.New)
		}
	case a.Content == nil:
		return shown{still: still}, false
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
		return shown{diff: fmt.Sprintf("  %s: the diff has %s\n", name, spelling.Count(len(diff), "byte")),
			still: still}, false
	}
	unchanged := func() bool {
		again, there, err := present(cfg, a.Path)
		return err == nil && again == now && there == exists
	}
	return shown{diff: indented(terminal.Sanitize(diff)) + stays(now, diff), still: unchanged}, exact &&
		plainlyAdded(diff)
}

// plainlyAdded tells whether each line that a diff adds is shown as what it is: an edit may join plain text to a rest
// that is not.
func plainlyAdded(diff string) bool {
	for line := range strings.Lines(diff) {
		if line[0] == '+' && !plain(line[1:]) {
			return false
		}
	}
	return true
}

// Idle tells whether a call is an edit of a text that is not in its file, or is there more often than once: it changes
// nothing.
func Idle(cfg *config.Config, call record.ToolCall) bool {
	var a struct {
		Path  string      `json:"path"`
		Edits []edit.Edit `json:"edits"`
	}
	if call.Tool != "file_edit" || record.Decode(call.Args, &a) != nil {
		return false
	}
	now, _, err := present(cfg, a.Path)
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

// present reads a text file of the workspace, and tells whether it exists. No link leads out of it.
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
