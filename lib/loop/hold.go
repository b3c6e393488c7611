package loop

import (
	"context"
	"errors"

	"clawsh/lib/conversation"
)

// hold locks the conversation for one turn.
func (l *Loop) hold(ctx context.Context) (release func(), waited bool, err error) {
	if l.Turns == "" {
		return func() {}, false, nil
	}
	turns := conversation.Turns{Dir: l.Turns, Waiting: l.Waiting}
	release, waited, err = turns.Hold(ctx, l.ConversationID)
	if cause := context.Cause(ctx); errors.Is(err, conversation.ErrBusy) && !errors.Is(cause, ErrTimeout) {
		err = cause
	}
	return release, waited, err
}
