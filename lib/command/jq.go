package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/itchyny/gojq"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// Bounds of a --jq expression: it is the user's own, so they only stop a mistake from running forever.
const (
	jqTimeout    = 10 * time.Second
	jqMaxOutputs = 1_000_000
)

// checkJQ reports a bad expression before the command does anything.
func checkJQ(expr string) error {
	q, err := gojq.Parse(expr)
	if err == nil {
		_, err = gojq.Compile(q)
	}
	if err != nil {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--jq: %w", err).WithHint("for example: --jq .data")
	}
	return nil
}

// runJQ writes the results of the expression over the envelope, a line each: strings as they are, the rest as JSON.
func runJQ(w io.Writer, expr string, doc []byte) error {
	q, err := gojq.Parse(expr)
	if err != nil {
		return err
	}
	v, err := record.JQValue(doc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), jqTimeout)
	defer cancel()
	it := q.RunWithContext(ctx, v)
	for range jqMaxOutputs {
		out, ok := it.Next()
		if !ok {
			return nil
		}
		if err, ok := out.(error); ok {
			// not wrapped: an error of gojq has an exit code of its own
			return envelope.Errorf(envelope.ExitError, "jq", "--jq: %v", err)
		}
		if err := writeJQ(w, out); err != nil {
			return err
		}
	}
	return fmt.Errorf("--jq: more than %d results", jqMaxOutputs)
}

func writeJQ(w io.Writer, v any) error {
	if s, ok := v.(string); ok {
		_, err := fmt.Fprintln(w, s)
		return err
	}
	b, err := gojq.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}
