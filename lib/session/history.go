package session

import (
	"os"
	"strings"
)

// maxHistory bounds the lines that are kept.
const maxHistory = 500

// history is the REPL's history, in a file that only its owner can read; newest first, as terminal.History wants it.
type history struct {
	path  string
	lines []string
	// withhold takes secrets out of what is written to the file.
	withhold func(string) string
}

// openHistory reads the history; without a path it is kept in memory only.
func openHistory(path string, withhold func(string) string) *history {
	h := &history{path: path, withhold: withhold}
	if path == "" {
		return h
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 { // clear empties it
		return h
	}
	h.lines = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(h.lines) > maxHistory {
		h.lines = h.lines[len(h.lines)-maxHistory:]
		os.WriteFile(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add implements terminal.History. A history that cannot be written is kept in memory only.
func (h *history) Add(entry string) {
	if strings.TrimSpace(entry) == "" || strings.Contains(entry, "\n") {
		return
	}
	h.lines = append(h.lines, entry)
	if h.path == "" {
		return
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.WriteString(h.withhold(entry) + "\n")
}

// Len implements terminal.History.
func (h *history) Len() int { return len(h.lines) }

// At implements terminal.History.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
