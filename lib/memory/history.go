package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"clawsh/lib/record"
)

// The terminal keeps a history of what was typed, which does not say in which conversation: who forgets one forgets the
// lines that its messages are made of, wherever they were typed.

// typed are the lines of the user's messages.
func typed(entries []Entry, lines map[string]bool) {
	for _, e := range entries {
		if e.Kind != record.KindUser {
			continue
		}
		for line := range strings.SplitSeq(e.Content, "\n") {
			lines[strings.TrimSpace(line)] = true
		}
	}
}

// maxHistoryBytes bounds what is read of a file that somebody else has written to.
const maxHistoryBytes = 64 << 20

// forgetTyped takes lines out of the history at path, in place; nil takes out all. A line that goes on in the next one
// ends in \ there.
func forgetTyped(path string, lines map[string]bool) error {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete lines from the terminal's history: %w", err)
	}
	defer f.Close()
	var kept strings.Builder
	if lines != nil {
		all, err := io.ReadAll(io.LimitReader(f, maxHistoryBytes))
		if err != nil {
			return fmt.Errorf("delete lines from the terminal's history: %w", err)
		}
		for line := range strings.Lines(string(all)) {
			text := strings.TrimSpace(line)
			if !lines[text] && !lines[strings.TrimSpace(strings.TrimSuffix(text, `\`))] {
				kept.WriteString(line)
			}
		}
	}
	if _, err = f.WriteAt([]byte(kept.String()), 0); err == nil {
		err = f.Truncate(int64(kept.Len()))
	}
	if err != nil {
		return fmt.Errorf("delete lines from the terminal's history: %w", err)
	}
	return nil
}
