package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A panic is not a limit that was reached, as the code says with which Go ends a process: it is an error, told as every
// other is.
func TestPanic(t *testing.T) {
	for name, what := range map[string]func(){
		"text": func() { panic("lost the thread") }, "an error": func() { panic(errors.New("lost the thread")) },
		"nil": func() { var f func(); f() }, "an index": func() { _ = []int{}[len(name(t))] },
		"a value": func() { panic(fmt.Stringer(&bytes.Buffer{})) }, "panic(nil)": func() { panic(any(nil)) },
		"hostile": func() { panic("\x1b[2J sk-ant-api03-" + strings.Repeat("A", 93) + "AA") },
	} {
		for _, format := range []string{"text", "json"} {
			a := app()
			a.Commands = append(a.Commands, Command{Name: "fall", Summary: "f", Example: "prog fall",
				Run: func(context.Context, *Call) (Result, error) { what(); return answer{"unreached"}, nil }})
			var out, errOut bytes.Buffer
			code := a.Run(t.Context(), []string{"fall", "--output-format", format}, strings.NewReader(""), &out,
				&errOut, nil)
			said := errOut.String()
			if format == "json" {
				said = out.String() + said
			}
			if code != 1 || !strings.Contains(said, "internal error") ||
				!strings.Contains(errOut.String(), "panic_test.go") {
				t.Errorf("%s, %s: %d\n%s", name, format, code, said)
			}
			if format == "json" && !strings.Contains(out.String(), `"code":"internal"`) {
				t.Errorf("%s: %s", name, out.String())
			}
			if strings.ContainsRune(said, 0x1b) || strings.Contains(said, strings.Repeat("A", 93)) {
				t.Errorf("%s: %q", name, said)
			}
		}
	}
}

func name(t *testing.T) string { return t.Name() }

// broken is a result that cannot be shown.
type broken struct{}

func (broken) WriteText(w io.Writer) error {
	fmt.Fprintln(w, "half of it")
	panic("lost the thread")
}

func (broken) MarshalJSON() ([]byte, error) { panic("lost the thread") }

// TestPanicWhileShown: nor is it one in what shows a result; nothing of that is shown.
func TestPanicWhileShown(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		a := app()
		a.Commands = append(a.Commands, Command{Name: "fall", Summary: "f", Example: "prog fall",
			Run: func(context.Context, *Call) (Result, error) { return broken{}, nil }})
		var out, errOut bytes.Buffer
		code := a.Run(t.Context(), []string{"fall", "--output-format", format}, strings.NewReader(""), &out, &errOut,
			nil)
		if code != 1 || !strings.Contains(errOut.String(), "panic_test.go") || strings.Contains(out.String(), "half") ||
			!strings.Contains(out.String()+errOut.String(), "internal error") {
			t.Errorf("%s: %d\n%s%s", format, code, out.String(), errOut.String())
		}
	}
}
