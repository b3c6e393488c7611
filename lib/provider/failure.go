package provider

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// Error is a provider's failure. Code is one of package dialect's. Message says in one line what failed and why, and
// contains no key; Hint, if set, says what to do about it. Status is the HTTP status, or 0. Retryable means that the
// same request may succeed later. Err is set for errors.Is only if its text is clawsh's own.
type Error struct {
	Provider, Code, Message, Hint string
	Status                        int
	Retryable                     bool
	Err                           error

	retryAfter time.Duration // what the server asked for; negative if nothing
	final      bool          // retrying at once cannot help
	malformed  bool          // the body of status 200 was not an answer: the next may be one
	said       string        // the server's own words
	streamed   bool          // a part of the answer was passed on
}

// Error returns the provider's name and what failed.
func (e *Error) Error() string { return e.Provider + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// again reports whether the provider itself should retry. After a timeout it should not: the time is used up.
func (e *Error) again() bool {
	return !e.final && !e.streamed && (e.Code == dialect.CodeRateLimit || e.Code == dialect.CodeServer ||
		e.Code == dialect.CodeNetwork)
}

// transient reports whether a failure with that code may not occur again when the request is retried.
func transient(code string) bool {
	return code == dialect.CodeTimeout || code == dialect.CodeNetwork || code == dialect.CodeRateLimit ||
		code == dialect.CodeServer
}

// ended returns the error for a context that ended, by its deadline or because it was cancelled.
func ended(provider string, ctx context.Context) *Error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Provider: provider, Code: dialect.CodeTimeout, Message: "the request timed out", Retryable: true,
			Err: cause}
	}
	return &Error{Provider: provider, Code: dialect.CodeCancelled, Message: "cancelled: " + cause.Error(), Err: cause}
}

// known returns a network error in a form for errors.Is, without its text, which may quote a server.
func known(err error) error {
	for _, k := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, syscall.ECONNREFUSED,
		syscall.ECONNRESET} {
		if errors.Is(err, k) {
			return k
		}
	}
	return nil
}

// short is a name as messages quote it.
func short(s string) string { return record.Cut(dialect.Printable(s), 80) }
