package provider

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// A server that keeps its connection alive without answering is abandoned after barrenFactor times its timeout, but
// not before barrenLeast.
const (
	barrenFactor = 20
	barrenLeast  = 10 * time.Minute
)

// silence is the cause of ending a connection on which nothing arrives.
type silence struct {
	after  time.Duration
	begun  bool // the answer had begun
	barren bool // only signs of life arrived
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

// phase says what arriving bytes mean to a watch.
type phase int

const (
	waiting   phase = iota // blanks before an answer are signs of life
	growing                // each byte of a body is a part of the answer
	streaming              // lines are signs of life, events are parts of the answer
	complete               // nothing prolongs the wait for the rest
)

// watch ends an attempt when nothing arrives. It has two timers: signs of life restart the first, but only parts of
// the answer restart the second, so that endless comments do not keep a turn waiting forever. Only the reader of the
// answer may use it.
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

// begin waits for the pieces of an answer from now on. It returns false if the answer came too late.
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
