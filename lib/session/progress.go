package session

import (
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

// progress tells people, a line each, what happens during a turn. Without a place to tell it, it is silent.
type progress struct {
	to      io.Writer
	secrets *secret.Redactor
	columns func() int
	calls   map[string]string // what the calls run whose results are not there yet, by id
	several bool              // more than one of them was open
	before  func() error      // ends what was streamed, nil for a channel that streams nothing
}

// newProgress tells it on standard error if that is a terminal.
func newProgress(c *command.Call) progress {
	p := progress{secrets: c.Secrets, columns: func() int { return terminal.Width(os.Stderr) }}
	if terminal.IsTerminal(os.Stderr) {
		p.to = c.Stderr
	}
	return p
}

// update tells of one record.
func (p *progress) update(line record.Line) {
	switch line.Kind() {
	case record.KindToolCall:
		args, _ := line.Field("args")
		p.called(line.ID(), line.Text("tool"), p.secrets.Text(ran(line.Text("tool"), args)))
	case record.KindSummary:
		p.tell("· a summary now stands for the old turns of this conversation")
	case record.KindToolResult:
		p.result(line)
	}
}

// forget ends a turn: no call is open any more.
func (p *progress) forget() { p.calls, p.several = nil, false }

// called tells of a call.
func (p *progress) called(id, tool, what string) {
	if p.calls == nil {
		p.calls = map[string]string{}
	}
	p.calls[id] = what
	p.several = p.several || len(p.calls) > 1
	p.tell("· %s %s", tool, what)
}

// maxAgain is how many columns the argument takes by which a result is told from the others.
const maxAgain = 30

// result tells what became of a call, and how long its tool ran: not how long a person took to allow it. Where several
// calls were open, it says of which.
func (p *progress) result(line record.Line) {
	var r record.ToolResult
	if err := record.DecodeOpen(line.Bytes(), &r); err != nil {
		r = record.ToolResult{Tool: line.Text("tool"), Status: line.Text("status"), Error: line.Text("error"),
			Output: line.Text("output")}
	}
	mark := "✓"
	if r.Status != record.StatusAllowed {
		mark = "✗"
	}
	words := []string{mark, r.Tool}
	if p.several {
		words = append(words, terminal.Fit(terminal.Escape(p.calls[r.ID]), maxAgain))
	}
	if delete(p.calls, r.ID); len(p.calls) == 0 {
		p.several = false
	}
	words = append(words, took(r.Metadata.DurationMS), p.secrets.Text(becameOf(r)))
	p.tell("%s", strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
	p.said(folded(foldOf(r.Tool, r.Status != record.StatusAllowed || !r.Success), p.secrets.Text(r.Output)))
}

// said shows lines of what a tool said.
func (p *progress) said(lines []string) {
	if p.to == nil || len(lines) == 0 {
		return
	}
	defer terminal.Hold(context.Background())()
	for _, l := range lines {
		fmt.Fprintln(p.to, terminal.Fit("    "+l, p.columns()-1))
	}
}

// tell prints a line of progress for people, never into a question that is open: claw-gate holds the terminal while it
// asks, and claw-loop lets it ask only once the call has been told of here.
func (p *progress) tell(format string, args ...any) {
	if p.to == nil {
		return
	}
	text := terminal.Escape(p.secrets.Text(strings.TrimSpace(fmt.Sprintf(format, args...))))
	defer terminal.Hold(context.Background())()
	if p.before != nil {
		p.before()
	}
	fmt.Fprintln(p.to, terminal.FitMiddle(text, p.columns()-1))
}
