package broker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"clawsh/lib/card"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/tool"
)

// maxFetch bounds what a fetching child says: a result and its escapes.
const maxFetch = 16 << 20

// Fetch is the child that reads the web: it runs one call of a tool that needs the network alone, arguments in,
// result out.
func Fetch(ctx context.Context, o Options, name string, in io.Reader, out io.Writer) error {
	args, err := io.ReadAll(io.LimitReader(in, maxMessage))
	if err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	t, ok := tool.Lookup(name)
	if !ok || t.Needs.Runs() != card.Fetching {
		return fmt.Errorf("the tool %q does not read the web alone", name)
	}
	whole := *o.Config
	// the client cuts it, and keeps it
	whole.Limits.MaxOutputBytes = max(whole.Limits.MaxOutputBytes, whole.Limits.MaxResponseBytes)
	b, err := record.Encode(tool.Run(ctx, t, args, &tool.Env{Config: &whole, SelfEnv: o.Environ, Log: o.Log,
		Secrets: o.Secrets}))
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

// fetch has a tool run in such a child.
func (s *server) fetch(ctx context.Context, r Request) Reply {
	argv := []string{process.Self(), FetchCommand, r.Tool}
	var out bytes.Buffer
	code, err := process.RunTree(ctx, process.TreeSpec{Argv: argv, Dir: "/", Env: s.environ(),
		Stdin:  bytes.NewReader(r.Args),
		Stdout: &limited{&out, maxFetch}, Stderr: os.Stderr})
	if err != nil {
		return Reply{Error: err.Error()}
	}
	var result tool.Result
	if err := record.Decode(out.Bytes(), &result); err != nil || code != 0 {
		return Reply{Error: fmt.Sprintf(
			"the process that reads from the web exited with status %d and without a result", code)}
	}
	return Reply{Result: &result}
}

// limited passes on so many bytes and throws the rest away: a cut answer is not a result.
type limited struct {
	to   io.Writer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
