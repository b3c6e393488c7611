package approval

import (
	"context"
	"errors"
	"slices"
	"strings"

	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Terminal asks on the terminal.
type Terminal struct {
	// Colours shows diffs in colours.
	Colours bool
}

// Ask implements Asker.
func (t Terminal) Ask(ctx context.Context, q Question) (string, error) {
	rows, columns := terminal.Size()
	given, err := terminal.Choose(ctx, t.text(q, rows, columns), typed(q.Answers), again(q.Answers, q.Prompt))
	if errors.Is(err, terminal.ErrNoTerminal) {
		return "", ErrNobody
	}
	i := slices.IndexFunc(q.Answers, func(a Answer) bool { return given == a.Key || given == a.Word })
	if err != nil || i < 0 {
		return "", err
	}
	return q.Answers[i].Key, nil
}

// text is all that is shown. Where it does not fit on the screen, its head is told again right above the place of the
// answer.
func (t Terminal) text(q Question, rows, columns int) string {
	text := q.Head + q.Body + paint(q.Diff, t.Colours)
	if q.Brief == "" {
		return text + q.Prompt
	}
	text += listed(q.Answers, func(a Answer) string { return a.Short })
	if terminal.Rows(text, columns) >= rows { // the place of the answer takes a row, too
		text += "  (above: " + spelling.Count(terminal.Rows(q.Body+q.Diff, columns), "row") + " and " + q.Brief + ")\n"
	}
	return text + q.Prompt
}

// paint colours the lines of a diff. The text is sanitised: it holds no sequence of its own.
func paint(text string, colours bool) string {
	if !colours {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		code := map[string]string{"    +": "32", "    -": "31", "    @": "36"}[line[:min(5, len(line))]]
		if code == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString("\x1b[" + code + "m" + strings.TrimSuffix(line, "\n") + "\x1b[0m\n")
	}
	return b.String()
}
