package agent

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// facts returns what a model has to know about where it works, as a tail of the system prompt. It stays the same for a
// day, so that a provider can keep what it has read of a conversation.
func facts(cfg *config.Config, rounds int, tools bool) func(now time.Time) string {
	place := ""
	if tools {
		place = where(cfg) + "\n" + level(cfg.Security) + "\n" + limits(cfg, rounds)
	}
	return func(now time.Time) string {
		return "\n\n" + strings.TrimSpace(fmt.Sprintf("Today is %s. System: %s.\n%s", now.Format("Monday, 2006-01-02"),
			runtime.GOOS, place))
	}
}

func where(cfg *config.Config) string {
	text := "Workspace: " + terminal.Escape(cfg.WorkspaceDir) + "."
	if cfg.Sandbox.Layout == "staged" {
		text += " Only data/ and output/ can be written."
	}
	if roots := cfg.Security.ReadRoots; len(roots) > 0 {
		text += " Also readable: " + terminal.Escape(strings.Join(roots, " ")) + "."
	}
	return text
}

// level says what the autonomy level means for what a model is about to call.
func level(s config.Security) string {
	switch s.Autonomy {
	case "readonly":
		return "Level readonly: you can look, and change or run nothing."
	case "full":
		return "Level full: nothing asks; what is blocked is denied."
	}
	asks, other := "writing and known commands ask the user", "other commands are denied"
	if s.Harmless == "low" {
		asks = "so do commands that only read; writing and other known commands ask the user"
	}
	if s.High == "ask" {
		other = "so do all others"
	}
	return "Level supervised: reading runs; " + asks + ", " + other + "."
}

func limits(cfg *config.Config, rounds int) string {
	text := "Limits: commands " + amount(cfg.Limits.ShellTimeoutS) + " s (timeout_s: up to " +
		amount(cfg.Limits.ShellTimeoutMaxS) + "), no network"
	if !cfg.Sandbox.GitWrite {
		text += ", .git read-only"
	}
	return text + fmt.Sprintf("; %s of tool calls.", spelling.Count(rounds, "round"))
}

func amount(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
