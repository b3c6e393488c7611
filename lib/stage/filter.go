package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
)

// Filter runs a stage as a command, on the command's streams and under its program's name. With CLAWSH_TRACE=DIR,
// what the stage reads is also appended to DIR/<program>.jsonl.
func Filter(ctx context.Context, c *command.Call, s Stage) (command.Result, error) {
	s.Name, s.Withhold = c.App, c.Secrets.Text
	if dir := c.Getenv("CLAWSH_TRACE"); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory for traces (CLAWSH_TRACE): %w", err)
		}
		f, err := os.OpenFile(filepath.Join(dir, c.App+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the trace (CLAWSH_TRACE): %w", err)
		}
		defer f.Close()
		trace := c.Secrets.NewLineWriter(f)
		defer trace.Close()
		s.Trace = lossy{trace}
	}
	err := s.Run(ctx, c.Stdin, c.Stdout)
	if errors.Is(err, errBadLines) && c.Getenv("CLAWSH_DRIVEN") != "" {
		err = command.Exit(envelope.From(err).ExitCode()) // claw-loop reads the error records and reports them itself
	}
	return command.Records(), err
}

// lossy never fails: a full disk must not end a turn because of a debugging aid.
type lossy struct{ w io.Writer }

func (l lossy) Write(p []byte) (int, error) {
	l.w.Write(p)
	return len(p), nil
}
