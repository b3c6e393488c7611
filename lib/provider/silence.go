package provider

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// A server that keeps its connection alive without ever answering is given up after barrenFactor times its timeout, and not before barrenLeast.
const (
	barrenFactor = 20
	barrenLeast  = 10 * time.Minute
)

// silence is the cause by which a connection is ended on which nothing comes.
type silence struct {
	after  time.Duration
	begun  bool // the answer had begun
	barren bool // signs of life came, and nothing else
}

// Error implements error.
func (s silence) Error() string {
	switch {
	case s.barren:
		return fmt.Sprintf("the server kept the connection open but sent no part of the answer for %s", s.after)
	case s.begun:
		return fmt.Sprintf("the server sent nothing for %s in the middle of the answer", s.after)
	}
	return fmt.Sprintf("no answer within %s", s.after)
}

// phase says what bytes that come mean to a watch.
type phase int

const (
	waiting   phase = iota // blanks before an answer are signs of life
	growing                // each byte of a body is a part of the answer
	streaming              // lines are signs of life, events are parts of the answer
	complete               // nothing prolongs the wait for what may still come
)

// watch ends an attempt to which nothing comes. Two timers run: signs of life restart the first one, and only parts of the answer the
// second one, so that comments without end do not keep a turn waiting without end. Only the reader of the answer may use it.
type watch struct {
	cancel        context.CancelCauseFunc
	phase         phase
	alive, barren *time.Timer
	wait, most    time.Duration
}

// newWatch waits for an answer to begin.
func newWatch(cancel context.CancelCauseFunc, wait, most time.Duration) *watch {
	w := &watch{cancel: cancel, most: most}
	w.barren = time.AfterFunc(most, func() { cancel(silence{after: most, barren: true}) })
	w.start(waiting, wait)
	return w
}

func (w *watch) start(p phase, wait time.Duration) {
	w.phase, w.wait = p, wait
	w.alive = time.AfterFunc(wait, func() { w.cancel(silence{after: wait, begun: p != waiting}) })
}

// begin waits for the pieces of an answer from now on. It is false if the answer came too late.
func (w *watch) begin(p phase, idle time.Duration) bool {
	inTime := w.alive.Stop()
	if inTime {
		w.start(p, idle)
	}
	return inTime
}

// stop ends the watch.
func (w *watch) stop() {
	w.alive.Stop()
	w.barren.Stop()
}

// came takes note of bytes.
func (w *watch) came(p []byte) {
	switch w.phase {
	case waiting:
		w.alive.Reset(w.wait)
	case growing:
		if len(bytes.TrimSpace(p)) > 0 {
			w.part()
		}
	case streaming:
		if bytes.ContainsAny(p, "\r\n") {
			w.alive.Reset(w.wait)
		}
	}
}

// part takes note of a part of the answer.
func (w *watch) part() {
	w.alive.Reset(w.wait)
	w.barren.Reset(w.most)
}
