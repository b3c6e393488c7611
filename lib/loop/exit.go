package loop

import (
	"strings"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// ExitCode is the exit code that a turn ends a program with (DESIGN §8): 0 if it was answered, 77 if it was answered but
// a call had been denied with nobody asked, so that cron notices, and else by the reason why there is no answer. A no
// from a person, and arguments that a model got wrong, are no reason to complain.
func ExitCode(f record.Final) int {
	switch f.StopReason {
	case record.StopFinalText:
		for _, d := range f.Denials {
			if d.Approval != record.ApprovalRefused && !strings.HasPrefix(d.Rule, "args.") {
				return envelope.ExitDenied
			}
		}
		return envelope.ExitOK
	case record.StopMaxToolRounds, record.StopMaxTokens, record.StopMaxCost, record.StopTimeout, record.StopLength:
		return envelope.ExitLimit
	case record.StopCancelled:
		return envelope.ExitInterrupted
	case record.StopProviderError:
		return envelope.ProviderExit(f.ErrorCode)
	}
	return envelope.ExitError
}
