package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"clawsh/lib/terminal"
)

// pipedLines reads one message a line from a pipe or file.
type pipedLines struct{ in *bufio.Reader }

// ReadMessage implements lineReader.
func (p *pipedLines) ReadMessage() (string, error) {
	line, err := p.in.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil
	}
	return line, err
}

// terminalLines reads messages with line editing and history. The terminal is in raw mode only while a message is typed,
// so that during a turn Ctrl-C is a signal and the gate can ask its questions.
type terminalLines struct{ editor *terminal.Editor }

func newTerminalLines(h *history) *terminalLines {
	return &terminalLines{&terminal.Editor{In: os.Stdin, Out: os.Stdout, History: h, Size: func() int { return terminal.Width(os.Stdout) }}}
}

// ReadMessage implements lineReader. Lines that were pasted together, and lines that end in \, are one message.
func (l *terminalLines) ReadMessage() (string, error) {
	var message strings.Builder
	for prompt := "> "; ; prompt = "… " {
		line, err := l.editor.ReadLine(prompt)
		pasted := errors.Is(err, terminal.ErrPasted)
		if err != nil && !pasted {
			return "", err
		}
		more := strings.HasSuffix(line, `\`) && !pasted
		message.WriteString(strings.TrimSuffix(line, `\`))
		if !pasted && !more {
			return message.String(), nil
		}
		message.WriteByte('\n')
	}
}

// Leave implements lineReader.
func (l *terminalLines) Leave() { l.editor.Leave() }

// Leave implements lineReader.
func (*pipedLines) Leave() {}

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
