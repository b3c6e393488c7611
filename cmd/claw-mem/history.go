package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/memory"
	"clawsh/lib/record"
)

// The terminal keeps a history of what was typed, which does not say in which conversation: who forgets one forgets the lines that
// its messages are made of, wherever they were typed.

// forgetting is the row of the commands that remove what was said.
func forgetting(c *command.Call, cfg *config.Config) confine.Access {
	a := clearing(c, cfg)
	if cfg != nil {
		_ = os.MkdirAll(cfg.TurnsDir(), 0o700) // to take a lock says what is wrong, if anything is
		a.Write = append(a.Write, cfg.ResultsDir(), cfg.TurnsDir())
		if info, err := os.Lstat(cfg.HistoryPath()); err == nil && info.Mode().IsRegular() {
			a.Own = append(a.Own, cfg.HistoryPath())
		}
	}
	return a
}

// typed are the lines of the user's messages.
func typed(entries []memory.Entry, lines map[string]bool) {
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

// forgetTyped takes lines out of the history at path, in place; nil takes out all. A line that goes on in the next one ends in \ there.
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
