package terminal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuiet tries pauses between pieces of input, in a time of its own: before a question, and after an answer.
func TestQuiet(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		every, until, still, most time.Duration // a piece comes that often, until that time
		want                      error
		within                    time.Duration
	}{
		"nothing": {never, 0, stillBefore, mostBefore, nil, 320 * time.Millisecond},
		"a paste, piece by piece": {time.Millisecond, time.Second, stillBefore, mostBefore, nil,
			1400 * time.Millisecond},
		"a paste with pauses": {280 * time.Millisecond, 4 * time.Second, stillBefore, mostBefore, nil,
			4500 * time.Millisecond},
		"input without end": {time.Millisecond, never, stillBefore, mostBefore, errRestless,
			5100 * time.Millisecond},
		"input with pauses without end": {250 * time.Millisecond, never, stillBefore, mostBefore, errRestless,
			5300 * time.Millisecond},
		"an answer alone":    {never, 0, stillAfter, 0, nil, 80 * time.Millisecond},
		"an answer and more": {time.Millisecond, never, stillAfter, 0, errRestless, 30 * time.Millisecond},
		"an answer and more, soon": {40 * time.Millisecond, never, stillAfter, 0, errRestless,
			60 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				next := began.Add(c.every)
				err := quiet(t.Context(), func(buf []byte) (int, error) {
					now := time.Now()
					if now.Before(next) || now.Sub(began) > c.until {
						return 0, nil
					}
					next = now.Add(c.every)
					return len(buf), nil
				}, c.still, c.most)
				if took := time.Since(began); !errors.Is(err, c.want) || took > c.within {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// TestQuietEnds: the end of the question, or of the terminal, ends the wait.
func TestQuietEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := quiet(ctx, func([]byte) (int, error) { return 1, nil }, stillBefore, mostBefore); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	if err := quiet(t.Context(), func([]byte) (int, error) { return 0, errClosed }, stillBefore,
		mostBefore); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}
