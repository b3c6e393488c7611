package envelope

import (
	"errors"
	"fmt"
	"syscall"
)

// Exit codes of every clawsh program. Scripts may rely on them.
const (
	// ExitOK means done.
	ExitOK = 0
	// ExitError means an error, not found, a failed verification, or that some input lines were bad.
	ExitError = 1
	// ExitLimit means that a limit was reached: timeout, tool rounds or budget.
	ExitLimit = 2
	// ExitUsage means wrong usage of the command line.
	ExitUsage = 64
	// ExitProvider means that the provider is unavailable, after retries and fallback.
	ExitProvider = 69
	// ExitSandbox means that the sandbox that the policy requires cannot be set up.
	ExitSandbox = 71
	// ExitWaiting means waiting for an approval that can be given later.
	ExitWaiting = 75
	// ExitDenied means denied: by policy, by ESTOP, or because nobody was there to approve.
	ExitDenied = 77
	// ExitConfig means bad configuration.
	ExitConfig = 78
	// ExitHungUp means ended by SIGHUP.
	ExitHungUp = 129
	// ExitInterrupted means interrupted by SIGINT.
	ExitInterrupted = 130
	// ExitPipe means that the reader of the output went away before the end, as with SIGPIPE.
	ExitPipe = 141
	// ExitTerminated means ended by SIGTERM.
	ExitTerminated = 143
)

// Error is a failure as people and programs see it: a code to branch on, a message that says what was being done, to
// what, and why it failed, and an optional hint that says what to do. Exit is the program's exit code. Err, if set,
// is the cause for errors.Is and errors.As; it is not printed again.
type Error struct {
	Code    string
	Message string
	Hint    string
	Exit    int
	Note    bool // everything was done except what the message says: it is shown as a note
	Err     error
}

// Errorf returns an Error whose message is formatted as by fmt.Errorf; %w wraps a cause.
func Errorf(exit int, code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: code, Message: err.Error(), Exit: exit, Err: errors.Unwrap(err)}
	var cause *Error
	if errors.As(err, &cause) {
		e.Hint = cause.Hint
	}
	return e
}

// WithHint sets what the reader can do about the failure, and returns the error.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Error returns the message without the hint.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code that the failure asks for; 1 when none was set.
func (e *Error) ExitCode() int {
	if e.Exit == 0 {
		return ExitError
	}
	return e.Exit
}

// Cancelled is the error of everything that SIGINT, SIGTERM or SIGHUP ends, also when it ended another program that
// the work needed.
func Cancelled(sig syscall.Signal) *Error {
	switch sig {
	case syscall.SIGTERM:
		return &Error{Code: "cancelled", Message: "terminated", Exit: ExitTerminated}
	case syscall.SIGHUP:
		return &Error{Code: "cancelled", Message: "hung up", Exit: ExitHungUp}
	}
	return &Error{Code: "cancelled", Message: "interrupted", Exit: ExitInterrupted}
}

// From turns any error into an *Error: the *Error in its chain if there is one, with the full message of the chain, or
// else one with code "error" and exit code 1. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return &Error{Code: "error", Message: err.Error(), Exit: ExitError, Err: err}
	}
	full := *e
	full.Message = err.Error()
	return &full
}

// ProviderExit returns the exit code for a provider's failure, by its error code. Only a failure that may not happen
// later, or at another provider, makes the provider unavailable.
func ProviderExit(code string) int {
	switch code {
	case "provider.config":
		return ExitConfig
	case "provider.too_long":
		return ExitLimit
	case "provider.bad_request", "provider.no_tools", "provider.not_found", "provider.too_large":
		return ExitError
	}
	return ExitProvider
}
