package session

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/record"
)

// Conversation is one turn after the other, in one session.
type Conversation struct {
	Session *Session
	// Metadata is that of each request.
	Metadata record.Raw
	// Command runs a line that begins with / and tells whether to leave.
	Command func(line string) (leave bool)
	// Answered shows what a turn has ended with. A turn that failed does not end the conversation.
	Answered func(a Answer, failure error) error
}

// Run answers the messages until there are no more, and returns the last final record.
func (d *Conversation) Run(in Lines) (record.Final, error) {
	last := record.Final{StopReason: record.StopFinalText}
	signals := make(chan command.Signal, 1)
	d.Session.whenIdle(func(sig command.Signal) {
		select {
		case signals <- sig:
		default:
		}
	})
	for {
		message, err := read(in, signals)
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		message = strings.TrimSpace(message)
		switch {
		case message == "":
		case strings.HasPrefix(message, "/") && !strings.Contains(message, "\n"):
			if d.Command(message) {
				return last, nil
			}
		default:
			answer, err := d.Session.Turn(message, d.Metadata)
			if err != nil {
				return last, err
			}
			last = answer.Final
			failure := d.Session.Failure(last)
			d.Session.again()
			if err := d.Answered(answer, failure); err != nil {
				return last, err
			}
		}
	}
}

// read reads one message. A signal meanwhile ends the conversation: Ctrl-C at the prompt is none.
func read(in Lines, signals <-chan command.Signal) (string, error) {
	type message struct {
		text string
		err  error
	}
	done := make(chan message, 1)
	go func() {
		text, err := in.ReadMessage()
		if err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("read a message: %w", err)
		}
		done <- message{text, err}
	}()
	select {
	case got := <-done:
		return got.text, got.err
	case sig := <-signals:
		in.Leave()
		return "", interrupted(sig)
	}
}
