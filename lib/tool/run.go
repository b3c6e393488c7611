package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"clawsh/lib/card"
	"clawsh/lib/record"
)

// stuckGrace is how long a tool may take to notice that it was stopped. After that it is left behind.
const stuckGrace = 2 * time.Second

// timeoutError is the cause of a context whose time is up.
type timeoutError struct {
	after time.Duration
	most  time.Duration // that the call could have asked for; 0: it had all there is
}

// Error says how long it ran, and how it may run longer.
func (e timeoutError) Error() string {
	text := "timed out after " + number(e.after.Seconds()) + " s"
	if e.most > e.after {
		text += "; with timeout_s it may run for up to " + number(e.most.Seconds()) + " s"
	}
	return text
}

func withTimeout(ctx context.Context, d, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, timeoutError{d, most})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Run runs a tool within its configured timeout and measures it. When ctx ends, its cause (context.Cause) is named in
// the result. A tool that does not stop then is given up two seconds later. A panic of a tool is logged with its stack
// and reported as a failure.
func Run(ctx context.Context, t Tool, args record.Raw, env *Env) Result {
	start := time.Now()
	most := seconds(env.Config.Limits.Seconds(t.TimeoutMost))
	ctx, cancel := withTimeout(ctx, timeout(t, args, most, env), most)
	defer cancel()
	done := make(chan Result, 1)
	go func() { done <- invoke(ctx, t, args, env) }()
	r := wait(ctx, done)
	if r.Success {
		r.Error = ""
	} else if cause := context.Cause(ctx); cause != nil {
		r.interrupted(cause)
	}
	r.Output, r.Error = validText(r.Output), validText(r.Error)
	r.withhold(env)
	r.Meta.DurationMS = time.Since(start).Milliseconds()
	r.Meta.FinishedAt = record.Now()
	return r
}

func wait(ctx context.Context, done <-chan Result) Result {
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	grace := time.NewTimer(stuckGrace)
	defer grace.Stop()
	select {
	case r := <-done:
		return r
	case <-grace.C:
		return Result{}
	}
}

func invoke(ctx context.Context, t Tool, args record.Raw, env *Env) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			if env.Log != nil {
				env.Log.Error("tool panicked", "tool", t.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			r = failf("internal error in %s: %v", t.Name, p)
		}
	}()
	if env.Away == nil || t.Needs.Runs() == card.Confined {
		return t.invoke(ctx, args, env)
	}
	r = env.Away(ctx, t, args, env)
	if total := r.Meta.TotalBytes; len(r.Output) > env.Config.Limits.MaxOutputBytes {
		r.setText(r.Output, env) // it was left whole, to be kept
		r.Meta.TotalBytes = total
	}
	return r
}

// timeout is the usual time of a tool, or what its call asks for, if it may.
func timeout(t Tool, args record.Raw, most time.Duration, env *Env) time.Duration {
	var asks struct {
		TimeoutS float64 `json:"timeout_s"`
	}
	if most > 0 && record.DecodeOpen(args, &asks) == nil && asks.TimeoutS > 0 && asks.TimeoutS <= most.Seconds() {
		return seconds(asks.TimeoutS)
	}
	return seconds(env.Config.Limits.Seconds(t.Timeout))
}

// interrupted names the cause in the result of a call that did not finish.
func (r *Result) interrupted(cause error) {
	var late timeoutError
	switch {
	case errors.As(cause, &late):
		r.Meta.TimedOut = true
	case errors.Is(cause, context.DeadlineExceeded):
		r.Meta.TimedOut, cause = true, errors.New("timed out")
	case errors.Is(cause, context.Canceled):
		cause = errors.New("cancelled")
	}
	r.Error = cause.Error()
	if !r.Meta.TimedOut {
		r.Meta.CancelledReason = r.Error
	}
}

func failf(format string, args ...any) Result { return Result{Error: fmt.Sprintf(format, args...)} }

// failed is failf for an error that may be a refusal.
func failed(err error, format string, args ...any) Result {
	r := failf(format, append(args, err)...)
	var refused refusedError
	r.Denied = errors.As(err, &refused)
	return r
}

// why is an error without the path that it is about: messages name it themselves, quoted.
func why(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	if err != nil && err.Error() == "path escapes from parent" {
		return refusedError{errOutside}
	}
	return err
}
