package session

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// TestConversation: each message that is neither blank nor a command is a turn, a turn that fails does not end the
// conversation, and what it ends with is the last final record.
func TestConversation(t *testing.T) {
	p := play(t, &heard{})
	var sent, commands, failures []string
	go func() {
		for _, reply := range []string{answered, strings.Replace(cancelled, "cancelled", "error", 1), answered} {
			sent = append(sent, p.message(t).Content)
			p.say(reply)
		}
	}()
	d := Conversation{Session: p.session,
		Command: func(line string) bool { commands = append(commands, line); return line == "/exit" },
		Answered: func(a Answer, failure error) error {
			if failure != nil {
				failures = append(failures, failure.Error())
			}
			return nil
		}}
	last, err := d.Run(NewPipedLines(strings.NewReader("one\n\n  \n/help me\ntwo\nthree\n/exit\nfour\n")))
	if err != nil || last.StopReason != record.StopFinalText || !slices.Equal(sent, []string{"one", "two", "three"}) ||
		!slices.Equal(commands, []string{"/help me", "/exit"}) || !slices.Equal(failures, []string{"ended"}) {
		t.Errorf("%+v, %v: %q %q %q", last, err, sent, commands, failures)
	}
}

// waiting are lines that nobody types.
type waiting struct{ left chan struct{} }

func (w waiting) ReadMessage() (string, error) { <-w.left; return "", io.EOF }
func (w waiting) Leave()                       { close(w.left) }

// TestSignalAtPrompt: a signal ends a conversation that waits for a message, whether it comes then or has come before.
func TestSignalAtPrompt(t *testing.T) {
	for _, early := range []bool{true, false} {
		p := play(t, &heard{})
		sig := command.Signal{Signal: syscall.SIGHUP}
		send := func() { p.signals <- sig; p.signals <- sig }
		if early {
			send()
		} else {
			go send()
		}
		_, err := (&Conversation{Session: p.session}).Run(waiting{make(chan struct{})})
		if e := envelope.From(err); e == nil || e.Exit != 129 {
			t.Errorf("early %t: %v", early, err)
		}
	}
}

func TestConversationEnds(t *testing.T) {
	full := errors.New("disk full")
	p := play(t, &heard{})
	go func() { p.message(t); p.say(answered) }()
	d := Conversation{Session: p.session, Answered: func(Answer, error) error { return full }}
	if _, err := d.Run(NewPipedLines(strings.NewReader("a\nb\n"))); !errors.Is(err, full) {
		t.Error(err)
	}
	p = play(t, &heard{})
	go func() { p.message(t); p.out.Close() }()
	if _, err := (&Conversation{Session: p.session}).Run(NewPipedLines(strings.NewReader("a\nb\n"))); err == nil {
		t.Error("it goes on without claw-loop")
	}
	last, err := (&Conversation{Session: p.session}).Run(NewPipedLines(strings.NewReader("")))
	if err != nil || last.StopReason != record.StopFinalText {
		t.Errorf("no message: %+v, %v", last, err)
	}
}

// TestHistory: what was typed is kept without its secrets, at most so many lines of it, and what is no single line is
// not.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	hide := func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	if err := os.WriteFile(path, []byte(strings.Repeat("old\n", maxHistory+3)), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHistory(path, hide)
	if h.Len() != maxHistory {
		t.Errorf("%d lines", h.Len())
	}
	for _, entry := range []string{"", "  ", "a\nb", "say hunter2"} {
		h.Add(entry)
	}
	if h.Len() != maxHistory+1 || h.At(0) != "say hunter2" || h.At(1) != "old" {
		t.Errorf("%d, %q", h.Len(), h.At(0))
	}
	again := openHistory(path, hide)
	if again.At(0) != "say ***" {
		t.Errorf("%q", again.At(0))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if h := openHistory("", hide); h.Len() != 0 {
		t.Error("a history without a file has lines")
	}
}

// TestReadPiped: what is piped into a message is text, and bounded; a cancelled reader is not waited for.
func TestReadPiped(t *testing.T) {
	silent := func(string, string, ...any) {}
	for _, c := range []struct{ in, want, code string }{
		{"a\nb", "a\nb", ""}, {"", "", ""}, {"\xff", "", "input.not_text"},
		{strings.Repeat("x", maxPipedBytes), strings.Repeat("x", maxPipedBytes), ""},
		{strings.Repeat("x", maxPipedBytes+1), "", "input.too_large"},
	} {
		got, err := ReadPiped(context.Background(), strings.NewReader(c.in), silent)
		e := envelope.From(err)
		if got != c.want || (e == nil) != (c.code == "") || e != nil && e.Code != c.code {
			t.Errorf("%d bytes: %d bytes, %v", len(c.in), len(got), err)
		}
	}
	stuck, _ := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadPiped(ctx, stuck, silent); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
