package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"clawsh/lib/envelope"
	"clawsh/lib/secret"
	"clawsh/lib/terminal"
)

// Main runs the program with the process's arguments and streams, and exits with its code.
func Main(app App) {
	stdout, stderr := shown(os.Stdout), shown(os.Stderr)
	code := app.run(context.Background(), os.Args[1:], os.Stdin, stdout, stderr, os.Environ(), true)
	for _, w := range []io.Writer{stdout, stderr} {
		if c, ok := w.(io.Closer); ok && w != io.Writer(os.Stdout) && w != io.Writer(os.Stderr) {
			_ = c.Close() // half a character at the very end
		}
	}
	if err := os.Stdout.Close(); err != nil && !errors.Is(err, syscall.EPIPE) && code == envelope.ExitOK {
		fmt.Fprintf(os.Stderr, "%s: error: close output: %v\n", app.Name, err)
		code = envelope.ExitError
	}
	os.Exit(code)
}

// End ends a process that a program started from itself for one purpose and that is no App: with 0, or with what went
// wrong on standard error and 1.
func End(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(envelope.ExitError)
	}
	os.Exit(envelope.ExitOK)
}

// shown is what a program writes to: where that is a terminal, everything passes the sanitiser, whatever a command has
// thought of.
func shown(f *os.File) io.Writer {
	if terminal.IsTerminal(f) {
		return terminal.NewSanitizer(f)
	}
	return f
}

// Run runs the program with the given arguments and streams, and returns its exit code.
func (a App) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	return a.run(ctx, args, stdin, stdout, stderr, environ, false)
}

// run is Run; a program that is alone in its process confines that.
func (a App) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string,
	alone bool) int {
	if len(args) == 1 && args[0] == "--version" { // most of a start is for commands
		return (&program{App: a, stdout: stdout, stderr: stderr, format: "text"}).finish(ThisBuild(a.Name), nil)
	}
	p := &program{App: a, alone: alone, stdin: stdin, stdout: stdout, stderr: stderr,
		environ: environ, format: requestedFormat(args), secrets: secret.New(environ), args: args, caught: catch()}
	res, err := p.guarded(func() (Result, error) { return p.execute(ctx, args) })
	return p.finish(res, err)
}

// program is one run of an App.
type program struct {
	App
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	format         string
	alone          bool // nothing else runs in this process
	secrets        *secret.Redactor
	global         Global
	command        string // the name for the envelope
	words          string // what was typed to get there
	root           *tree
	caught         <-chan os.Signal
	args           []string // all that was typed
}

func (p *program) getenv(name string) string {
	for _, e := range slices.Backward(p.environ) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// requestedFormat finds --output-format before the arguments are parsed, so that even a usage error is reported in the
// format that was asked for.
func requestedFormat(args []string) string {
	for i, a := range args {
		// where the format is what is being typed
		if a == "--" || i == 0 && strings.HasPrefix(a, cobra.ShellCompRequestCmd) {

			break
		}
		if v, ok := strings.CutPrefix(a, "--output-format="); ok {
			return v
		}
		if a == "--output-format" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return "text"
}

// finish prints the result and the failure, and returns the exit code.
func (p *program) finish(res Result, err error) int {
	w := bufio.NewWriter(p.stdout)
	_, printErr := p.guarded(func() (Result, error) { return nil, p.print(w, res, err) })
	if bug := new(envelope.Panic); errors.As(printErr, &bug) { // what a result had begun to say is dropped
		w.Reset(p.stdout)
		err, printErr = printErr, p.print(w, nil, printErr)
	}
	if printErr == nil {
		printErr = w.Flush()
	}
	if errors.Is(printErr, syscall.EPIPE) {
		printErr = nil
	}
	if err == nil && printErr != nil {
		err = printErr
		p.complain(fmt.Errorf("write output: %w", err))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return envelope.ExitOK
	case errors.As(err, &coded):
		if code := coded.ExitCode(); code >= 0 { // that of a program that a signal ended is -1, and no exit code
			return code
		}
	}
	return envelope.ExitError
}

func (p *program) print(w io.Writer, res Result, err error) error {
	if p.format == "json" {
		return p.printEnvelope(w, res, err)
	}
	if res != nil {
		clean := p.secrets.NewWriter(w)
		if werr := errors.Join(res.WriteText(clean), clean.Close()); werr != nil {
			return werr
		}
	}
	if err != nil {
		p.complain(err)
	}
	return nil
}

func (p *program) printEnvelope(w io.Writer, res Result, err error) error {
	if _, records := res.(recordsWritten); records {
		if err != nil {
			p.complain(err)
		}
		return nil
	}
	var data any
	if res != nil {
		data = res
	}
	if err != nil {
		err = coded(err)
	}
	b, encErr := envelope.New(p.command, time.Now(), data, err).Append(nil)
	if encErr != nil {
		return encErr
	}
	if b, encErr = withhold(p.secrets, b); encErr != nil {
		return fmt.Errorf("redact secrets in the result: %w", encErr)
	}
	if p.global.JQ != "" {
		if err != nil {
			p.complain(err)
			return nil
		}
		return runJQ(w, p.global.JQ, b)
	}
	_, werr := w.Write(append(b, '\n'))
	return werr
}

// coded gives errors that know their exit code but are no envelope errors (signals, config problems) a code.
func coded(err error) error {
	e := envelope.From(err)
	e.Exit = exitCode(err)
	var named interface{ ErrorCode() string }
	if e.Code == "error" && errors.As(err, &named) {
		e.Code = named.ErrorCode()
	}
	return e
}

// complain tells people about a failure on standard error.
func (p *program) complain(err error) {
	e := envelope.From(err)
	var ended Signal
	if e.Message == "" || errors.As(err, &ended) {
		return // said already, or known to whoever sent the signal
	}
	if jsonLog(p.getenv) {
		newLogger(p.Name, p.stderr, p.getenv, p.secrets).
			Error(e.Message, "event", "failed", "code", e.Code, "hint", e.Hint)
		return
	}
	kind := "error"
	if e.Note {
		kind = "note"
	}
	fmt.Fprintf(p.stderr, "%s: %s: %s\n", p.speaker(), kind, terminal.Sanitize(p.secrets.Text(e.Message)))
	if e.Hint != "" {
		fmt.Fprintf(p.stderr, "%s: hint: %s\n", p.speaker(), terminal.Sanitize(p.secrets.Text(e.Hint)))
	}
}

// speaker is the program that the user has started, as far as they know.
func (p *program) speaker() string {
	if name, _, ok := strings.Cut(p.global.As, " "); ok {
		return name
	}
	return p.Name
}

// Print prints one of several answers, each as a command's only one is printed.
func (c *Call) Print(res Result, err error) error { return c.print(c.Stdout, res, err) }

// Complain tells people about a failure on standard error, as the failure of a program is told.
func (c *Call) Complain(err error) { c.complain(err) }

// Tell tells people something on standard error that is no failure; with CLAWSH_LOG=json it is an event.
func (c *Call) Tell(event, text string, attrs ...any) {
	if c.jsonLog {
		c.Log.Warn(text, append([]any{"event", event}, attrs...)...)
		return
	}
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.App, terminal.Sanitize(c.Secrets.Text(text)))
}

// Exit returns an error that ends the program with the code and prints nothing: everything has been said.
func Exit(code int) error {
	if code == envelope.ExitOK {
		return nil
	}
	return &envelope.Error{Code: "exit", Exit: code}
}

// Records is the result of a command that has written records to standard output itself: nothing is printed behind
// them, and a failure goes to standard error.
func Records() Result { return recordsWritten{} }

type recordsWritten struct{}

func (recordsWritten) WriteText(io.Writer) error { return nil }
