package session

import (
	"bytes"
	"io"
	"os"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// Channel is a way by which people and programs talk to the agent.
type Channel interface {
	// Name is the channel's name in the configuration and the log.
	Name() string
	// Update shows what happens during a turn: deltas, tool calls and results.
	Update(line record.Line) error
	// Send ends a turn with its final record, and tells whether the whole answer has been shown.
	Send(final record.Final, raw []byte) (shown bool, err error)
}

// commandLine is the name of both channels of the command line.
const commandLine = "cli"

// NewCommandLine is the channel of the command line. With events, each record of a turn is written to standard output;
// otherwise the answer is, while it arrives if draft says so. Progress goes to standard error if that is a terminal.
func NewCommandLine(c *command.Call, draft, events bool) Channel {
	out := c.Stdout
	if terminal.IsTerminal(os.Stdout) {
		out = terminal.NewSanitizer(out) // of events, too: JSON leaves a control character beyond ASCII as it is
	}
	if events {
		return &Pipe{Out: out, Withhold: c.Withhold, progress: newProgress(c)}
	}
	t := &Terminal{Out: out, Draft: draft, progress: newProgress(c)}
	t.before = t.newline
	return t
}

// Terminal is the channel for people: the answer where answers go, progress beside it.
type Terminal struct {
	// Out takes the answer while it arrives, if Draft says so.
	Out   io.Writer
	Draft bool

	progress
	segment strings.Builder // what was streamed since the last tool call
	open    bool            // the cursor is behind streamed text
}

// Name implements Channel.
func (*Terminal) Name() string { return commandLine }

// Update implements Channel.
func (t *Terminal) Update(line record.Line) error {
	switch line.Kind() {
	case record.KindDelta:
		return t.delta(line.Text("text"))
	case record.KindToolCall:
		t.segment.Reset()
	}
	t.update(line)
	return nil
}

func (t *Terminal) delta(text string) error {
	if !t.Draft || text == "" {
		return nil
	}
	t.segment.WriteString(text)
	t.open = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(t.Out, text)
	return err
}

// newline ends a streamed line before something else is printed.
func (t *Terminal) newline() error {
	if !t.open {
		return nil
	}
	t.open = false
	_, err := io.WriteString(t.Out, "\n")
	return err
}

// Send implements Channel: it ends what was streamed. What was not is printed as the turn's answer.
func (t *Terminal) Send(final record.Final, _ []byte) (bool, error) {
	t.forget()
	shown := t.Draft && final.Content != "" && t.segment.String() == final.Content
	t.segment.Reset()
	return shown, t.newline()
}

// Pipe is the channel for programs: each record of a turn, as it is but for secrets.
type Pipe struct {
	Out      io.Writer
	Withhold func(raw []byte) ([]byte, error)

	progress
}

// Name implements Channel.
func (*Pipe) Name() string { return commandLine }

// Update implements Channel.
func (p *Pipe) Update(line record.Line) error {
	if err := p.write(line.Bytes()); err != nil {
		return err
	}
	p.update(line)
	return nil
}

// Send implements Channel: the final record is one of the records.
func (p *Pipe) Send(_ record.Final, raw []byte) (bool, error) {
	p.forget()
	return true, p.write(raw)
}

func (p *Pipe) write(raw []byte) error {
	clean, err := p.Withhold(raw)
	if err == nil {
		_, err = p.Out.Write(append(bytes.Clone(clean), '\n'))
	}
	return err
}
