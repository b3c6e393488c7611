package loop

import (
	"slices"
	"strings"
	"syscall"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// mistakes are the rules that deny calls because of the model's mistakes: wrong arguments, or an unknown tool.
var mistakes = []string{"args.invalid", "tool.unknown"}

// Complains reports whether a denial needs attention. A person's no and the model's mistakes do not.
func Complains(d record.Denial) bool {
	return d.Approval != record.ApprovalRefused && !slices.Contains(mistakes, d.Rule)
}

// ExitCode returns the exit code for a turn: 0 if it was answered, 71 if a program was not run because there was no
// sandbox, 77 if it was answered but a call was denied without asking anyone, so that cron notices, and otherwise a
// code for the reason why there is no answer. A person's no and the model's mistakes do not count as denials.
func ExitCode(f record.Final) int {
	switch f.StopReason {
	case record.StopFinalText:
		if f.Unconfined != "" {
			return envelope.ExitSandbox
		}
		for _, d := range f.Denials {
			if Complains(d) {
				return envelope.ExitDenied
			}
		}
		return envelope.ExitOK
	case record.StopMaxToolRounds, record.StopMaxTokens, record.StopMaxCost, record.StopTimeout, record.StopLength:
		return envelope.ExitLimit
	case record.StopCancelled:
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			if e := envelope.Cancelled(sig); strings.HasPrefix(f.Error, e.Message) {
				return e.Exit
			}
		}
		return envelope.ExitInterrupted
	case record.StopProviderError:
		return envelope.ProviderExit(f.ErrorCode)
	case record.StopStageError:
		if strings.HasPrefix(f.ErrorCode, "config.") || f.ErrorCode == "home.insecure" {
			return envelope.ExitConfig
		}
	}
	return envelope.ExitError
}
