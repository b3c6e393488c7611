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

// Error is a provider's failure. Code is one of package dialect's. Message says what failed and why, in one line, and holds no key; Hint, if set, what to do
// about it. Status is the HTTP status, 0 where there was none. Retryable: the same request may succeed later. Err is kept
// for errors.Is only where its text is clawsh's own.
type Error struct {
	Provider, Code, Message, Hint string
	Status                        int
	Retryable                     bool
	Err                           error

	retryAfter time.Duration // what the server asked for; negative if nothing
	final      bool          // trying again at once cannot help
	malformed  bool          // what came after 200 was no answer: the next may be one
	said       string        // the server's own words
	streamed   bool          // a part of the answer was passed on
}

// Error returns the provider's name and what failed.
func (e *Error) Error() string { return e.Provider + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// again tells whether the provider itself should try once more. Behind a timeout it should not: the time is used up.
func (e *Error) again() bool {
	return !e.final && !e.streamed && (e.Code == dialect.CodeRateLimit || e.Code == dialect.CodeServer || e.Code == dialect.CodeNetwork)
}

// transient tells whether a failure of that code may be gone when the same request is sent again.
func transient(code string) bool {
	return code == dialect.CodeTimeout || code == dialect.CodeNetwork || code == dialect.CodeRateLimit || code == dialect.CodeServer
}

// ended is the error for a context that ended: its deadline, or somebody who cancelled.
func ended(provider string, ctx context.Context) *Error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Provider: provider, Code: dialect.CodeTimeout, Message: "the request timed out", Retryable: true, Err: cause}
	}
	return &Error{Provider: provider, Code: dialect.CodeCancelled, Message: "cancelled: " + cause.Error(), Err: cause}
}

// known returns what errors.Is may ask a network error for, without its text, which may quote what a server sent.
func known(err error) error {
	for _, k := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET} {
		if errors.Is(err, k) {
			return k
		}
	}
	return nil
}

// short is a name as messages quote it.
func short(s string) string { return record.Cut(dialect.Printable(s), 80) }
