package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
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
type terminalLines struct{ t *term.Terminal }

func newTerminalLines(history string, withhold func(string) string) *terminalLines {
	t := term.NewTerminal(screen{controlC{os.Stdin}, os.Stdout}, "> ")
	t.History = openHistory(history, withhold)
	return &terminalLines{t}
}

// ReadMessage implements lineReader. Lines that were pasted together, and lines that end in \, are one message.
func (l *terminalLines) ReadMessage() (string, error) {
	state, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(os.Stdin.Fd()), state)
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		l.t.SetSize(w, h)
	}
	l.t.SetBracketedPasteMode(true)
	defer l.t.SetBracketedPasteMode(false)
	defer l.t.SetPrompt("> ")
	var message strings.Builder
	for {
		line, err := l.t.ReadLine()
		pasted := errors.Is(err, term.ErrPasteIndicator)
		if err != nil && !pasted {
			return "", err
		}
		more := strings.HasSuffix(line, `\`) && !pasted
		message.WriteString(strings.TrimSuffix(line, `\`))
		if !pasted && !more {
			return message.String(), nil
		}
		message.WriteByte('\n')
		l.t.SetPrompt("… ")
	}
}

// screen joins keyboard and display.
type screen struct {
	io.Reader
	io.Writer
}

// controlC turns Ctrl-C into "go to the end and erase the line": at the prompt it throws the line away, it does not leave.
type controlC struct{ in io.Reader }

func (c controlC) Read(p []byte) (int, error) {
	n, err := c.in.Read(p[:max(1, len(p)/2)])
	if n == 0 || bytes.IndexByte(p[:n], 3) < 0 || len(p) < 2*n {
		return n, err
	}
	return copy(p, bytes.ReplaceAll(p[:n], []byte{3}, []byte{5, 21})), err
}

// maxHistory bounds the lines that are kept.
const maxHistory = 500

// history is the REPL's history, in a file that only its owner can read; newest first, as term.History wants it.
type history struct {
	path  string
	lines []string
	// withhold takes secrets out of what is written to the file.
	withhold func(string) string
}

func openHistory(path string, withhold func(string) string) *history {
	h := &history{path: path, withhold: withhold}
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

// Add implements term.History. A history that cannot be written is kept in memory only.
func (h *history) Add(entry string) {
	if strings.TrimSpace(entry) == "" || strings.Contains(entry, "\n") {
		return
	}
	h.lines = append(h.lines, entry)
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.WriteString(h.withhold(entry) + "\n")
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
