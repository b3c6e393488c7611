// Package stage is the skeleton of a clawsh filter: a program that reads records on standard input and writes records
// on standard output. It implements these six rules once, for all stages:
//
//  1. a record of a kind that the stage does not handle passes through, byte for byte and in order;
//  2. fields are added by splicing (record.Line.With), nothing is re-encoded;
//  3. a line that is not a record becomes an error record in its place, the stage goes on and fails at the end; a huge
//     line is skipped in constant memory;
//  4. output is flushed whenever input is idle, and before a handler that may take long, so that every stage works as
//     a coprocess;
//  5. at the end of input the stage finishes, flushes and checks that the flush worked; a cancelled context ends what
//     is in flight; a closed output ends the stage quietly, a full disk loudly;
//  6. standard output carries records only.
package stage

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// Handler handles one record and writes its output to out. An error becomes an error record in place of the record,
// and the stage continues, unless Fatal wraps the error. The line is valid until the handler returns.
type Handler func(ctx context.Context, line record.Line, out *Writer) error

// Map returns a handler that writes what becomes of a record; nil is nothing.
func Map(become func(ctx context.Context, line record.Line) ([]byte, error)) Handler {
	return func(ctx context.Context, line record.Line, out *Writer) error {
		made, err := become(ctx, line)
		if err != nil || made == nil {
			return err
		}
		return out.Write(made)
	}
}

// DrainGrace is how long a stage with Drain set waits for more input after it was told to stop.
const DrainGrace = 2 * time.Second

// Stage describes a filter.
type Stage struct {
	// Name is the program's name, for error records.
	Name string
	// Handlers has a handler for each kind that the stage owns.
	Handlers map[record.Kind]Handler
	// Drain makes a cancelled stage continue until its input ends, or is idle for DrainGrace: for stages that must
	// answer or record what earlier stages still report. Handlers see the cancelled context.
	Drain bool
	// Text, if set, turns input that does not start with { into a record: a message typed or piped as plain text.
	Text func(text string) ([]byte, error)
	// Withhold, if set, removes secrets from the texts of error records.
	Withhold func(string) string
	// Trace, if set, gets a copy of everything that the stage reads (CLAWSH_TRACE).
	Trace io.Writer
}

// Fatal wraps an error that must end the stage, because it can no longer do anything useful.
func Fatal(err error) error { return fatal{err} }

type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// runner is one run of a stage. mu guards out and stopped: the loop has it while it works, never while it reads.
type runner struct {
	Stage
	mu      sync.Mutex
	out     *Writer
	stopped bool
	bad     int
	active  chan struct{}
}

// Run reads in until its end and writes to out. It returns nil if all went well or the reader of out went away; the
// cause of ctx if that was cancelled; and an error with exit code 1 if lines were bad or output failed.
func (s Stage) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	if s.Trace != nil {
		in = io.TeeReader(in, s.Trace)
	}
	r := &runner{Stage: s, out: NewWriter(out), active: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- envelope.Recovered(v)
			}
		}()
		done <- r.loop(ctx, in)
	}()
	select {
	case err := <-done:
		return r.end(ctx, err)
	case <-ctx.Done():
	}
	if s.Drain {
		if err, ended := r.drain(done); ended {
			return r.end(ctx, err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	return r.end(ctx, r.out.Flush())
}

// drain waits for the loop to end, as long as it keeps working.
func (r *runner) drain(done chan error) (error, bool) {
	idle := time.NewTimer(DrainGrace)
	defer idle.Stop()
	for {
		select {
		case err := <-done:
			return err, true
		case <-r.active:
			idle.Reset(DrainGrace)
		case <-idle.C:
			if r.mu.TryLock() {
				r.mu.Unlock()
				return nil, false
			}
			idle.Reset(DrainGrace) // it works on a record
		}
	}
}

func (r *runner) end(ctx context.Context, err error) error {
	closed := errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
	switch {
	case closed && ctx.Err() != nil: // Ctrl-C ends a whole pipeline
		return context.Cause(ctx)
	case closed:
		return nil
	case err != nil && !errors.Is(err, ctx.Err()):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.bad > 0:
		return envelope.Errorf(envelope.ExitError, "input.bad_lines", "%w: %s; each is reported by an error record",
			errBadLines, count(r.bad, "line"))
	}
	return nil
}

// errBadLines ends a run in which error records reported bad lines.
var errBadLines = errors.New("some input was rejected")

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (r *runner) loop(ctx context.Context, in io.Reader) error {
	buffered := bufio.NewReaderSize(idleFlusher{in, r}, bufferBytes)
	if r.Text != nil {
		if err := r.readText(ctx, buffered); err != nil {
			return err
		}
	}
	lines := record.NewLineReader(buffered)
	for {
		raw, err := lines.Next()
		if err == io.EOF {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.out.Flush()
		}
		if err != nil && !errors.Is(err, record.ErrTooLong) {
			return fmt.Errorf("read input: %w", err)
		}
		if err := r.one(ctx, raw, err); err != nil {
			return err
		}
	}
}

// one handles one line, or reports why it could not be read.
func (r *runner) one(ctx context.Context, raw []byte, bad error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || !r.Drain && ctx.Err() != nil {
		return ctx.Err()
	}
	var line record.Line
	if bad == nil {
		line, bad = record.Parse(raw)
	}
	if bad != nil {
		return r.report(record.Line{}, envelope.Errorf(0, code(bad), "bad input line: %w", bad))
	}
	handler := r.Handlers[line.Kind()]
	if handler == nil {
		return r.out.Write(raw)
	}
	select {
	case r.active <- struct{}{}:
	default:
	}
	want := cmp.Or(record.VersionOf(line.Kind()), record.Version)
	if v, ok := line.Field("v"); ok && string(v) != strconv.Itoa(want) {
		return r.report(line, envelope.Errorf(0, "record.version",
			"%s record of version %.20s: this program reads version %d", line.Kind(), v, want))
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	err := handler(ctx, line, r.out)
	var f fatal
	if errors.As(err, &f) || errors.Is(err, errOutput) {
		return err
	}
	if err != nil {
		return r.report(line, err)
	}
	return nil
}

// code returns the error code for a rejected line.
func code(err error) string {
	for _, c := range []struct {
		err  error
		code string
	}{{record.ErrTooLong, "record.too_long"}, {record.ErrTooDeep, "record.too_deep"},
		{record.ErrNoKind, "record.no_kind"},
		{record.ErrNameCase, "record.name_case"}} {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "record.syntax"
}

// report writes the error record for a record that could not be handled.
func (r *runner) report(line record.Line, err error) error {
	r.bad++
	e := ErrorRecord(r.Name, line, err)
	if r.Withhold != nil {
		e.Message, e.Hint = r.Withhold(e.Message), r.Withhold(e.Hint)
	}
	b, encErr := record.Encode(e)
	if encErr != nil {
		return encErr
	}
	return r.out.Write(b)
}

// Retryable is implemented by errors that may go away when the same record is sent again.
type Retryable interface{ Temporary() bool }

// ErrorRecord makes the error record with which a stage reports err about a line.
func ErrorRecord(stage string, line record.Line, err error) record.Error {
	e := envelope.From(err)
	var t Retryable
	return record.Error{V: record.Version, Kind: record.KindError, Stage: stage, Code: e.Code, Message: e.Message,
		Hint: e.Hint,
		Ref:  line.ID(), ConversationID: line.Text("conversation_id"), TurnID: line.Text("turn_id"),
		Retryable: errors.As(err, &t) && t.Temporary()}
}

// readText looks at the first byte of the input: { starts a record; anything else is text, which is read completely.
func (r *runner) readText(ctx context.Context, in *bufio.Reader) error {
	first, err := peek(in)
	if err != nil || first == '{' {
		return nil
	}
	text, err := rest(in, record.MaxLineBytes/8)
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	raw, err := r.Text(string(text))
	if err != nil {
		return err
	}
	return r.one(ctx, raw, nil)
}
