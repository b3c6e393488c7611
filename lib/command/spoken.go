package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"clawsh/lib/terminal"
)

// spoken says warnings and errors in sentences, for people; what is logged at other levels is for whoever asked for it.
type spoken struct {
	slog.Handler
	w io.Writer
}

// Handle implements slog.Handler.
func (s spoken) Handle(ctx context.Context, r slog.Record) error {
	kind := ""
	switch r.Level {
	case slog.LevelWarn:
		kind = "warning: "
	case slog.LevelError:
		kind = "error: "
	default:
		return s.Handler.Handle(ctx, r)
	}
	_, err := io.WriteString(s.w, kind+terminal.Escape(sentence(r))+"\n")
	return err
}

// sentence is what a warning says: those that people see most in words of their own, the others with what belongs to
// them.
func sentence(r slog.Record) string {
	attrs := map[string]slog.Value{}
	var rest []string
	r.Attrs(func(a slog.Attr) bool {
		attrs[a.Key] = a.Value
		if a.Key != "event" && a.Key != "error" {
			rest = append(rest, a.Key+" "+a.Value.String())
		}
		return true
	})
	switch attrs["event"].String() {
	case "provider_retry":
		why := attrs["code"].String()
		if status := attrs["status"].String(); status != "0" {
			why += ", status " + status
		}
		wait, _ := attrs["wait_ms"].Any().(int64)
		return fmt.Sprintf("no answer from %s (%s): trying again in %.1f s", attrs["provider"], why, float64(wait)/1000)
	case "provider_fallback":
		return fmt.Sprintf("fallback: no answer from %s (%s), asking %s", attrs["from"], attrs["code"], attrs["to"])
	}
	text := r.Message
	if len(rest) > 0 {
		text += " (" + strings.Join(rest, ", ") + ")"
	}
	if err, ok := attrs["error"]; ok {
		text += ": " + err.String()
	}
	return text
}
