package loop

import (
	"slices"
	"strings"
	"syscall"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// mistakes are the rules of calls that were denied for what a model got wrong: its arguments, or the name of the tool.
var mistakes = []string{"args.invalid", "tool.unknown"}

// Complains tells whether a denial is a reason to complain: a no from a person, and what a model got wrong, are none.
func Complains(d record.Denial) bool {
	return d.Approval != record.ApprovalRefused && !slices.Contains(mistakes, d.Rule)
}

// ExitCode is the exit code that a turn ends a program with (DESIGN §8): 0 if it was answered, 71 if a program was
// not run for want of a sandbox, 77 if it was answered but
// a call had been denied with nobody asked, so that cron notices, and else by the reason why there is no answer. A no
// from a person, and what a model got wrong, are no reason to complain.
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
