package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"clawsh/lib/record"
)

// An interpreter and the process that has it run talk by two pipes: messages with their length before them, the first
// of which is the Script. The interpreter asks before each access (question), and is answered; its last message is a
// Report.

// question is what the interpreter asks. Words are bytes, so that what is judged is what runs.
type question struct {
	ID     int      `json:"id,omitzero"`
	Kind   string   `json:"kind,omitzero"`
	Dir    []byte   `json:"dir,omitzero"`
	Argv   [][]byte `json:"argv,omitzero"`
	Report *Report  `json:"report,omitzero"`
}

// reply is the answer: permitted if there is no error.
type reply struct {
	ID    int    `json:"id"`
	Error string `json:"error,omitzero"`
}

const (
	maxScriptMessage = 8 << 20 // a command line of 2 MiB in base64, and more than enough
	maxLastWords     = 4 << 10
	maxSignal        = 64
)

func sendMessage(w io.Writer, v any) error {
	frame, err := record.Frame(v, maxScriptMessage)
	if err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}

func receiveMessage(r io.Reader, v any) error { return record.ReadFrame(r, maxScriptMessage, v) }

// Serve tells an interpreter its script and answers what it asks, until it has ended. It fills in what it reported,
// what it was refused, and its last words if it crashed: what comes after nonsense is not read. Once ctx is done
// nothing is permitted any more, and what that left undecided is not refused.
func (l *Launched) Serve(ctx context.Context, launch Launch, to io.Writer, from io.Reader) {
	in := bufio.NewReader(from)
	if err := sendMessage(to, launch.Script); err != nil {
		l.Words = err.Error()
	}
	for {
		if first, err := in.Peek(1); err != nil {
			return
		} else if first[0] >= ' ' { // no length begins so: the runtime's words
			b, _ := io.ReadAll(io.LimitReader(in, maxLastWords))
			l.Words = strings.ToValidUTF8(string(b), "?")
			return
		}
		var q question
		if err := receiveMessage(in, &q); err != nil {
			l.Words = "it sent something unknown: " + err.Error()
			return
		}
		if q.Report != nil {
			l.Report = q.Report
			return
		}
		answer := reply{ID: q.ID}
		if err := q.judge(ctx, launch.Guard); err != nil {
			answer.Error = err.Error()
			if q.Kind != GuardAlone && !undecided(ctx, err) { // the first grants nothing
				l.Denied = err
			}
		}
		if sendMessage(to, answer) != nil {
			return
		}
	}
}

func (q question) judge(ctx context.Context, guard Guard) error {
	if guard == nil {
		return nil
	}
	argv := make([]string, len(q.Argv))
	for i, a := range q.Argv {
		argv[i] = string(a)
	}
	if len(argv) == 0 {
		return errors.New("nothing was named")
	}
	return guard(ctx, q.Kind, string(q.Dir), argv)
}

// ending says in words how an interpreter ended that has not reported.
func (l Launched) ending() string {
	words := l.Words
	switch {
	case l.Killed != "":
		return l.Killed
	case strings.Contains(words, "out of memory") || strings.Contains(words, "cannot allocate memory"):
		return "the command itself used more memory than allowed"
	case strings.Contains(words, "stack exceeds"):
		return "the command's parts nest too deeply"
	case strings.Contains(words, "failed to create new OS thread"):
		return "it could not start a process or thread: the limit sandbox.processes is reached"
	}
	if n := l.Code - 128; words == "" && n > 0 && n <= maxSignal {
		return fmt.Sprintf("its interpreter was killed by signal %d (%v)", n, syscall.Signal(n))
	}
	line, _, _ := strings.Cut(words, "\n")
	text := fmt.Sprintf("its interpreter exited with status %d and without a report %s", l.Code, line)
	return strings.TrimSpace(text)
}

// asker is the interpreter's end.
type asker struct {
	in io.Reader

	sending sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	gone    error
}

// InterpretFor reads a script, runs it, asks before each access, and reports. The host is told the script before
// anything runs.
func InterpretFor(in io.Reader, out io.Writer, prepare func(Script) Host) error {
	var script Script
	buffered := bufio.NewReader(in)
	if err := receiveMessage(buffered, &script); err != nil {
		return fmt.Errorf("read the script: %w", err)
	}
	a := &asker{in: buffered, out: out, waiting: map[int]chan reply{}}
	go a.read()
	host := prepare(script)
	host.Guard = a.guard
	report := Interpret(context.Background(), script, host)
	report.Error = validText(report.Error)
	return a.send(question{Report: &report})
}

func (a *asker) read() {
	for {
		var r reply
		err := receiveMessage(a.in, &r)
		a.mu.Lock()
		if err != nil {
			a.gone = errors.New("nothing can permit it")
			for _, ch := range a.waiting {
				close(ch)
			}
			a.waiting = nil
			a.mu.Unlock()
			return
		}
		if ch := a.waiting[r.ID]; ch != nil {
			ch <- r
			delete(a.waiting, r.ID)
		}
		a.mu.Unlock()
	}
}

func (a *asker) send(q question) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	return sendMessage(a.out, q)
}

// guard asks outside. Without an answer nothing is permitted.
func (a *asker) guard(ctx context.Context, kind, dir string, argv []string) error {
	words := make([][]byte, len(argv))
	for i, w := range argv {
		words[i] = []byte(w)
	}
	ch := make(chan reply, 1)
	q := question{Kind: kind, Dir: []byte(dir), Argv: words}
	a.mu.Lock()
	err := a.gone
	if err == nil {
		a.next++
		q.ID = a.next
		a.waiting[q.ID] = ch
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	if err := a.send(q); err != nil {
		return err
	}
	var r reply
	ok := false
	select {
	case r, ok = <-ch:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case !ok:
		return errors.New("nothing can permit it")
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}
