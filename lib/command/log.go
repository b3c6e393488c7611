package command

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"clawsh/lib/secret"
)

// The events that clawsh logs, as the attribute "event" of a log line.
const (
	EventStartup             = "startup"
	EventConfigPath          = "config_path"
	EventWorkspacePath       = "workspace_path"
	EventProviderSelected    = "provider_selected"
	EventChannelStarted      = "channel_started"
	EventConversationStarted = "conversation_started"
	EventToolRequested       = "tool_requested"
	EventToolApproved        = "tool_approved"
	EventToolDenied          = "tool_denied"
	EventToolCompleted       = "tool_completed"
	EventToolFailed          = "tool_failed"
	EventReceiptWritten      = "receipt_written"
	EventMemoryPersisted     = "memory_persisted"
	EventEstopTriggered      = "estop_triggered"
)

// Event logs one of the events above at level info, with attributes in pairs. Values are data of the program's own
// making, ids and names: never arguments, outputs or anything else that may hold a secret.
func (c *Call) Event(event string, attrs ...any) {
	if !c.Log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	c.Log.Info(strings.ReplaceAll(event, "_", " "), append([]any{"event", event}, attrs...)...)
}

// newLogger returns the program's logger. CLAWSH_LOG=json makes it write JSON, one object a line; CLAWSH_LOG_LEVEL is
// debug, info, warn or error, by default warn for text, which people read, and info for JSON, which they collect.
func newLogger(app string, w io.Writer, getenv func(string) string, secrets *secret.Redactor) *slog.Logger {
	w = redacted{w, secrets}
	json := jsonLog(getenv)
	level := slog.LevelWarn
	if json {
		level = slog.LevelInfo
	}
	if text := getenv("CLAWSH_LOG_LEVEL"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelDebug
		}
	}
	if json {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})).With("app", app)
	}
	text := slog.NewTextHandler(prefixed{w, app + ": "}, &slog.HandlerOptions{Level: level, ReplaceAttr: plain})
	return slog.New(spoken{text, prefixed{w, app + ": "}})
}

// jsonLog tells whether everything on standard error is to be JSON.
func jsonLog(getenv func(string) string) bool { return strings.EqualFold(getenv("CLAWSH_LOG"), "json") }

// plain leaves out the time, which is of no use on a terminal.
func plain(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}

// redacted writes each line without secrets, in one write: a logger writes a whole line at a time.
type redacted struct {
	w       io.Writer
	secrets *secret.Redactor
}

func (r redacted) Write(b []byte) (int, error) {
	text, _ := r.secrets.Bytes(b)
	if _, err := r.w.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// prefixed writes each line behind the program's name, in one write.
type prefixed struct {
	w      io.Writer
	prefix string
}

func (p prefixed) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, p.prefix+string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
