package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// double answers a ping with two records, and fails on a boom.
func double(_ context.Context, line record.Line, out *Writer) error {
	switch line.Text("do") {
	case "fail":
		return errors.New("it went wrong")
	case "end":
		return Fatal(errors.New("no use"))
	}
	if err := out.Write(line.Bytes()); err != nil {
		return err
	}
	return out.Record(record.Delta{V: 1, Kind: record.KindDelta, Text: line.ID()})
}

func ping() Stage {
	return Stage{Name: "ping", Handlers: map[record.Kind]Handler{"ping": double}}
}

func run(t *testing.T, s Stage, in string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := s.Run(t.Context(), iotest.OneByteReader(strings.NewReader(in)), &out)
	return out.String(), err
}

func TestPassesThroughByteForByte(t *testing.T) {
	in := "{\"kind\":\"x\" , \"n\":1.0}\n{\"k\\u0069nd\":\"y\"}\r\n{\"kind\":\"z\"}"
	out, err := run(t, ping(), in)
	if err != nil || out != in+"\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestHandles(t *testing.T) {
	out, err := run(t, ping(), `{"kind":"ping","id":"1"}`+"\n")
	if want := `{"kind":"ping","id":"1"}` + "\n" + `{"v":1,"kind":"delta","request_id":"","text":"1"}` +
		"\n"; err != nil || out != want {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestBadLinesBecomeErrorRecords(t *testing.T) {
	for _, c := range []struct{ line, code string }{
		{"nonsense", "record.syntax"}, {"", "record.syntax"}, {"{}", "record.no_kind"},
		{`{"Kind":"a","kind":"b"}`, "record.name_case"},
		{`{"kind":"ping","v":2}`, "record.version"}, {`{"kind":"ping","do":"fail","id":"p-1"}`, "error"},
		{`{"kind":"a","b":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "record.too_deep"},
		{strings.Repeat("x", record.MaxLineBytes+1), "record.too_long"},
	} {
		var out bytes.Buffer
		err := ping().Run(t.Context(), strings.NewReader(c.line+"\n"+`{"kind":"after"}`+"\n"), &out)
		first, rest, _ := strings.Cut(out.String(), "\n")
		l, perr := record.Parse([]byte(first))
		if perr != nil || l.Kind() != record.KindError || l.Text("code") != c.code || l.Text("stage") != "ping" {
			t.Errorf("%.40q: error record %s", c.line, first)
		}
		if rest != `{"kind":"after"}`+"\n" {
			t.Errorf("%.40q: the stage did not go on: %q", c.line, rest)
		}
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != 1 {
			t.Errorf("%.40q: ends with %v, want exit code 1", c.line, err)
		}
	}
}

func TestFatalEnds(t *testing.T) {
	out, err := run(t, ping(), `{"kind":"ping","do":"end"}`+"\n"+`{"kind":"x"}`+"\n")
	if err == nil || err.Error() != "no use" || out != "" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestFlushesWhenIdle answers over synchronous pipes: it hangs if output waits for more input.
func TestFlushesWhenIdle(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- ping().Run(t.Context(), inR, outW) }()
	for i := range 3 {
		line := fmt.Sprintf(`{"kind":"x","n":%d}`+"\n", i)
		io.WriteString(inW, line)
		got := make([]byte, len(line))
		if _, err := io.ReadFull(outR, got); err != nil || string(got) != line {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatFails(t *testing.T) {
	in := strings.Repeat(`{"kind":"x"}`+"\n", 20000)
	if err := ping().Run(t.Context(), strings.NewReader(in), failing{syscall.EPIPE}); err != nil {
		t.Errorf("a reader that has gone is no failure: %v", err)
	}
	if err := ping().Run(t.Context(), strings.NewReader(in), failing{syscall.ENOSPC}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk must be loud: %v", err)
	}
}

// TestCancelEndsBlockedRead ends although the input never does.
func TestCancelEndsBlockedRead(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	inR, inW := io.Pipe()
	defer inW.Close()
	why := errors.New("why")
	done := make(chan error, 1)
	go func() { done <- ping().Run(ctx, inR, io.Discard) }()
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// TestDrainWaitsForWork: a stage is not idle while it works on a record, however long that takes, as the first one of a
// memory that has to be opened. What comes after it is still handled.
func TestDrainWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		handled := 0
		slow := func(context.Context, record.Line, *Writer) error {
			if handled++; handled == 1 {
				cancel()
				time.Sleep(3*DrainGrace + time.Second)
			}
			return nil
		}
		s := Stage{Name: "drain", Drain: true, Handlers: map[record.Kind]Handler{record.KindUser: slow}}
		in := strings.NewReader(strings.Repeat(`{"v":1,"kind":"user","id":"u"}`+"\n", 3))
		if err := s.Run(ctx, in, io.Discard); !errors.Is(err, context.Canceled) || handled != 3 {
			t.Errorf("%d of 3 records were handled, %v", handled, err)
		}
	})
}

// TestDrainGoesOn handles what still comes after the cancellation, with the cancelled context.
func TestDrainGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	var seen []error
	s := Stage{Name: "drain", Drain: true,
		Handlers: map[record.Kind]Handler{"ping": func(ctx context.Context, _ record.Line, _ *Writer) error {
			seen = append(seen, ctx.Err())
			return nil
		}}}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, inR, io.Discard) }()
	cancel()
	io.WriteString(inW, `{"kind":"ping"}`+"\n"+`{"kind":"ping"}`+"\n")
	inW.Close()
	if err := <-done; !errors.Is(err, context.Canceled) || len(seen) != 2 || seen[1] == nil {
		t.Errorf("got %v, saw %v", err, seen)
	}
}

func TestText(t *testing.T) {
	s := ping()
	s.Text = func(text string) ([]byte, error) { return record.Encode(struct{ Kind, Text string }{}) }
	s.Text = func(text string) ([]byte, error) {
		return record.Encode(record.User{V: 1, Kind: "said", ID: "1", Content: text})
	}
	for in, want := range map[string]string{
		"hello\nworld":            `{"v":1,"kind":"said","id":"1","content":"hello\nworld"}` + "\n",
		"":                        "",
		" \n ":                    "",
		"\n {\"kind\":\"x\"}\n":   "",
		`{"kind":"x"}` + "\nhi\n": "",
	} {
		out, _ := run(t, s, in)
		if want != "" && out != want || want == "" && strings.Contains(out, "said") {
			t.Errorf("%q: %q", in, out)
		}
	}
}

func BenchmarkPassThrough(b *testing.B) {
	line := `{"v":1,"kind":"measurement","id":"m-1","text":"` + strings.Repeat("lorem ipsum ", 34) + `"}` + "\n"
	in := strings.Repeat(line, 1000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := ping().Run(b.Context(), strings.NewReader(in), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

// A handler that panics ends the stage with an error, and not the process with a code that means something else. Of
// the record nothing is written.
func TestPanicIsAnError(t *testing.T) {
	s := Stage{Name: "ping", Handlers: map[record.Kind]Handler{"ping": func(context.Context, record.Line,
		*Writer) error {
		panic("lost the thread")
	}}}
	out, err := run(t, s, `{"kind":"x"}`+"\n"+`{"kind":"ping","id":"1"}`+"\n"+`{"kind":"y"}`+"\n")
	var bug *envelope.Panic
	if !errors.As(err, &bug) || bug.Value != "lost the thread" || !bytes.Contains(bug.Stack,
		[]byte("stage_test.go")) || strings.Contains(out, "ping") || strings.Contains(out, "y") {
		t.Errorf("got %q, %v", out, err)
	}
}
