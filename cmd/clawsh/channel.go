package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/record"
	"clawsh/lib/secret"
	"clawsh/lib/terminal"
)

// Channel is a way by which people talk to the agent (specification, "Channel abstraction"). The command line is one; a
// gateway would be another.
type Channel interface {
	// Name is the channel's name in the configuration and the log.
	Name() string
	// Update shows what happens during a turn: deltas, tool calls and results.
	Update(line record.Line) error
	// Send shows the final record of a turn.
	Send(conversationID string, final []byte) error
}

// cli is the command-line channel: the answer goes to standard output, progress to standard error if that is a terminal.
type cli struct {
	out, progress io.Writer
	records       io.Writer
	withhold      func(raw []byte) ([]byte, error)
	secrets       *secret.Redactor
	draft         bool
	segment       strings.Builder // what was streamed since the last tool call
	open          bool            // the cursor is behind streamed text
	columns       func() int
	calls         map[string]string // what the calls run whose results are not there yet, by id
	several       bool              // more than one of them was open
	events        bool              // every record goes to standard output, as it is
}

func newCLI(c *command.Call, draft bool) *cli {
	ch := &cli{out: c.Stdout, records: c.Stdout, withhold: c.Withhold, secrets: c.Secrets, draft: draft, columns: func() int { return terminal.Width(os.Stderr) }}
	if terminal.IsTerminal(os.Stdout) {
		ch.out = terminal.NewSanitizer(c.Stdout)
		ch.records = terminal.NewSanitizer(c.Stdout) // JSON leaves a control character beyond ASCII as it is
	}
	if terminal.IsTerminal(os.Stderr) {
		ch.progress = c.Stderr
	}
	return ch
}

// Name implements Channel.
func (c *cli) Name() string { return "cli" }

// Update implements Channel.
func (c *cli) Update(line record.Line) error {
	if c.events {
		if err := c.event(line.Bytes()); err != nil {
			return err
		}
	}
	switch line.Kind() {
	case record.KindDelta:
		return c.delta(line.Text("text"))
	case record.KindToolCall:
		c.segment.Reset()
		args, _ := line.Field("args")
		c.called(line.ID(), line.Text("tool"), c.secrets.Text(ran(line.Text("tool"), args)))
	case record.KindSummary:
		c.tell("· a summary now stands for the old turns of this conversation")
	case record.KindToolResult:
		c.result(line)
	}
	return nil
}

func (c *cli) delta(text string) error {
	if !c.draft || text == "" || c.events {
		return nil
	}
	c.segment.WriteString(text)
	c.open = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(c.out, text)
	return err
}

// event writes a record of the turn.
func (c *cli) event(raw []byte) error {
	clean, err := c.withhold(raw)
	if err == nil {
		_, err = c.records.Write(append(bytes.Clone(clean), '\n'))
	}
	return err
}

// newline ends a streamed line before something else is printed.
func (c *cli) newline() error {
	if !c.open {
		return nil
	}
	c.open = false
	_, err := io.WriteString(c.out, "\n")
	return err
}

// called tells of a call.
func (c *cli) called(id, tool, what string) {
	if c.calls == nil {
		c.calls = map[string]string{}
	}
	c.calls[id] = what
	c.several = c.several || len(c.calls) > 1
	c.tell("· %s %s", tool, what)
}

// maxAgain is how many columns the argument takes by which a result is told from the others.
const maxAgain = 30

// result tells what became of a call, and how long its tool ran: not how long a person took to allow it. Where several calls
// were open, it says of which.
func (c *cli) result(line record.Line) {
	var r record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		r = record.ToolResult{Tool: line.Text("tool"), Status: line.Text("status"), Error: line.Text("error"), Output: line.Text("output")}
	}
	mark := "✓"
	if r.Status != record.StatusAllowed {
		mark = "✗"
	}
	words := []string{mark, r.Tool}
	if c.several {
		words = append(words, terminal.Fit(terminal.Escape(c.calls[r.ID]), maxAgain))
	}
	if delete(c.calls, r.ID); len(c.calls) == 0 {
		c.several = false
	}
	words = append(words, took(r.Metadata.DurationMS), c.secrets.Text(becameOf(r)))
	c.tell("%s", strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	c.said(folded(foldOf(r.Tool, r.Status != record.StatusAllowed || !r.Success), c.secrets.Text(r.Output)))
}

// said shows lines of what a tool said.
func (c *cli) said(lines []string) {
	if c.progress == nil || len(lines) == 0 {
		return
	}
	defer terminal.Hold(context.Background())()
	for _, l := range lines {
		fmt.Fprintln(c.progress, terminal.Fit("    "+l, c.columns()-1))
	}
}

// tell prints a line of progress for people, never into a question that is open: claw-gate holds the terminal while it asks, and
// claw-loop lets it ask only once the call has been told of here.
func (c *cli) tell(format string, args ...any) {
	if c.progress == nil {
		return
	}
	text := terminal.Escape(c.secrets.Text(strings.TrimSpace(fmt.Sprintf(format, args...))))
	defer terminal.Hold(context.Background())()
	c.newline()
	fmt.Fprintln(c.progress, terminal.FitMiddle(text, c.columns()-1))
}

// Send implements Channel: it ends what was streamed. What was not is printed by the command's result.
func (c *cli) Send(_ string, raw []byte) error {
	c.calls, c.several = nil, false
	if c.events {
		return c.event(raw)
	}
	return c.newline()
}

// shown tells whether the answer has been streamed already.
func (c *cli) shown(f record.Final) bool {
	return c.events || c.draft && f.Content != "" && c.segment.String() == f.Content
}
