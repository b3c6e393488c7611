package session

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"clawsh/lib/terminal"
)

// Lines are the messages of a conversation.
type Lines interface {
	// ReadMessage reads the next one; io.EOF ends the conversation.
	ReadMessage() (string, error)
	// Leave gives the terminal back while a message is read.
	Leave()
}

// pipedLines reads one message a line from a pipe or file.
type pipedLines struct{ in *bufio.Reader }

// NewPipedLines reads messages from a pipe or file.
func NewPipedLines(in io.Reader) Lines {
	return &pipedLines{bufio.NewReaderSize(in, maxPipedBytes)}
}

// ReadMessage implements Lines.
func (p *pipedLines) ReadMessage() (string, error) {
	line, err := p.in.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil
	}
	return line, err
}

// Leave implements Lines.
func (*pipedLines) Leave() {}

// terminalLines reads messages with line editing and history. The terminal is in raw mode only while a message is
// typed, so that during a turn Ctrl-C is a signal and the gate can ask its questions.
type terminalLines struct{ editor *terminal.Editor }

// NewTerminalLines reads messages from the terminal. What was typed is kept in the file history, without its secrets;
// without a file, only as long as the process lives.
func NewTerminalLines(history string, withhold func(string) string) Lines {
	return &terminalLines{&terminal.Editor{In: os.Stdin, Out: os.Stdout, History: openHistory(history, withhold),
		Size: func() int { return terminal.Width(os.Stdout) }}}
}

// ReadMessage implements Lines. Lines that were pasted together, and lines that end in \, are one message.
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

// Leave implements Lines.
func (l *terminalLines) Leave() { l.editor.Leave() }
