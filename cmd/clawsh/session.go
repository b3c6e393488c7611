package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// session is a running claw-loop.
type session struct {
	call    *command.Call
	channel Channel
	stage   *process.Stage
	out     *bufio.Reader
	id      string
	ended   atomic.Int32 // the exit code of the last signal
	done    chan struct{}
}

// startSession starts claw-loop. It gets the provider keys to pass them on to claw-llm.
func startSession(ctx context.Context, c *command.Call, cfg *config.Config, ch Channel, args []string) (*session, error) {
	siblings := loop.NewSiblings(cfg, c.Environ, os.Stderr)
	spec, err := siblings.WithSecrets("claw-loop", args...)
	if err != nil {
		return nil, err
	}
	st, err := process.Start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("start claw-loop: %w", err)
	}
	return &session{call: c, channel: ch, stage: st, out: bufio.NewReaderSize(st.Stdout, 64<<10), done: make(chan struct{})}, nil
}

// turn sends one message, shows what happens, and returns the final record.
func (s *session) turn(message string) (record.Final, error) {
	line, err := record.Encode(record.User{V: record.Version, Kind: record.KindUser, ID: record.NewID("msg-"), Content: message})
	if err != nil {
		return record.Final{}, err
	}
	if _, err := s.stage.Stdin.Write(append(line, '\n')); err != nil {
		return record.Final{}, s.gone()
	}
	for {
		raw, err := s.readLine()
		if err != nil {
			return record.Final{}, s.gone()
		}
		final, err := s.show(raw)
		if final != nil || err != nil {
			return *cmpOr(final), err
		}
	}
}

func cmpOr(f *record.Final) *record.Final {
	if f == nil {
		return &record.Final{}
	}
	return f
}

func (s *session) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := s.out.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) && len(line) <= record.MaxLineBytes {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// show passes one record to the channel; a final ends the turn.
func (s *session) show(raw []byte) (*record.Final, error) {
	line, err := record.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read what claw-loop says: %w", err)
	}
	switch line.Kind() {
	case record.KindFinal:
		var f record.Final
		if err := record.DecodeOpen(raw, &f); err != nil {
			return nil, fmt.Errorf("read the final record: %w", err)
		}
		s.id = f.ConversationID
		return &f, s.channel.Send(f.ConversationID, f)
	case record.KindError:
		var e record.Error
		if err := record.DecodeOpen(raw, &e); err != nil {
			return nil, err
		}
		return nil, &envelope.Error{Code: e.Code, Message: e.Message, Hint: e.Hint, Exit: envelope.ExitError}
	}
	return nil, s.channel.Update(line)
}

// gone says how claw-loop ended when it should not have. Its own message, if it had one, is on standard error already.
func (s *session) gone() error {
	s.stage.Stdin.Close()
	err := s.stage.Wait()
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return command.Exit(exit.ExitCode())
	}
	return envelope.Errorf(envelope.ExitError, "stage.died", "%s, in the middle of a turn", s.stage.Describe())
}

// close ends the session after the last turn.
func (s *session) close() error {
	close(s.done)
	s.stage.Stdin.Close()
	io.Copy(io.Discard, s.out)
	s.stage.Wait()
	return nil
}

// stop ends the session at once.
func (s *session) stop() { s.stage.Stop(time.Second) }

// forwardSignals lets claw-loop decide what a signal means. On a terminal it gets the same one a second time at the same
// moment, which it takes for one.
func (s *session) forwardSignals() {
	for {
		select {
		case <-s.done:
			return
		case sig := <-s.call.Signals:
			s.ended.Store(int32(sig.ExitCode()))
			s.stage.Signal(sig.Signal)
		}
	}
}
