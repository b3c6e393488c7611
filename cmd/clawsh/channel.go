package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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
	// SupportsDraftUpdates tells whether Update shows an answer while it is being written.
	SupportsDraftUpdates() bool
	// Update shows what happens during a turn: deltas, tool calls and results.
	Update(line record.Line) error
	// Send shows the final record of a turn.
	Send(conversationID string, final record.Final) error
}

// cli is the command-line channel: the answer goes to standard output, progress to standard error if that is a terminal.
type cli struct {
	out, progress io.Writer
	secrets       *secret.Redactor
	draft         bool
	segment       strings.Builder // what was streamed since the last tool call
	open          bool            // the cursor is behind streamed text
	started       map[string]time.Time
}

func newCLI(c *command.Call, draft bool) *cli {
	ch := &cli{out: c.Stdout, secrets: c.Secrets, draft: draft, started: map[string]time.Time{}}
	if terminal.IsTerminal(os.Stdout) {
		ch.out = terminal.NewSanitizer(c.Stdout)
	}
	if terminal.IsTerminal(os.Stderr) {
		ch.progress = c.Stderr
	}
	return ch
}

// Name implements Channel.
func (c *cli) Name() string { return "cli" }

// SupportsDraftUpdates implements Channel.
func (c *cli) SupportsDraftUpdates() bool { return c.draft }

// Update implements Channel.
func (c *cli) Update(line record.Line) error {
	switch line.Kind() {
	case record.KindDelta:
		return c.delta(line.Text("text"))
	case record.KindToolCall:
		c.newline()
		c.segment.Reset()
		c.started[line.ID()] = time.Now()
		args, _ := line.Field("args")
		c.tell("· %s %s", line.Text("tool"), short(c.secrets.Text(string(args))))
	case record.KindSummary:
		c.tell("· a summary now stands for the old turns of this conversation")
	case record.KindToolResult:
		mark := "✓"
		if line.Text("status") != record.StatusAllowed {
			mark = "✗"
		}
		c.tell("%s %s %s %s", mark, line.Text("tool"), time.Since(c.started[line.ID()]).Round(time.Millisecond), short(c.secrets.Text(line.Text("error"))))
	}
	return nil
}

func (c *cli) delta(text string) error {
	if !c.draft || text == "" {
		return nil
	}
	c.segment.WriteString(text)
	c.open = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(c.out, text)
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

// tell prints a line of progress for people.
func (c *cli) tell(format string, args ...any) {
	if c.progress != nil {
		fmt.Fprintln(c.progress, terminal.Escape(c.secrets.Text(strings.TrimSpace(fmt.Sprintf(format, args...)))))
	}
}

func short(s string) string {
	const most = 120
	r := []rune(s)
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Send implements Channel: it ends what was streamed. What was not is printed by the command's result.
func (c *cli) Send(string, record.Final) error { return c.newline() }

// shown tells whether the answer has been streamed already.
func (c *cli) shown(f record.Final) bool {
	return c.draft && f.Content != "" && c.segment.String() == f.Content
}
