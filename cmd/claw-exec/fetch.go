package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"clawsh/lib/card"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/tool"
)

// maxFetch bounds what a fetching child says: a result and its escapes.
const maxFetch = 16 << 20

// fetch is the child that reads the web: the only part of claw-exec that has a network, and it has nothing else.
func fetch() command.Command {
	return command.Command{Name: "fetch", Access: fetching, Hidden: true, Args: "TOOL", Min: 1, Max: 1,
		Summary: "run a tool that reads the web for claw-exec: arguments in, result out",
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			args, err := io.ReadAll(io.LimitReader(c.Stdin, maxMessage))
			if err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
			t, ok := tool.Lookup(c.Args[0])
			if !ok || t.Needs != card.Network {
				return nil, fmt.Errorf("the tool %q does not read the web alone", c.Args[0])
			}
			whole := *cfg
			whole.Limits.MaxOutputBytes = max(cfg.Limits.MaxOutputBytes, cfg.Limits.MaxResponseBytes) // the filter cuts it, and keeps it
			b, err := record.Encode(tool.Run(ctx, t, args, &tool.Env{Config: &whole, SelfEnv: c.Environ, Log: c.Log, Secrets: c.Secrets}))
			if err != nil {
				return nil, err
			}
			_, err = c.Stdout.Write(b)
			return command.Records(), err
		}}
}

// fetch runs the http tool in a child.
func (b *brokerState) fetch(ctx context.Context, a ask) answer {
	argv := []string{process.Self(), "fetch", a.Tool}
	if b.call.Global.Config != "" {
		argv = append(argv, "--config", b.call.Global.Config)
	}
	var out bytes.Buffer
	code, err := process.RunTree(ctx, process.TreeSpec{Argv: argv, Dir: "/", Env: process.Environment(b.call.Environ, config.PathEnv(b.config, nil)...), Stdin: bytes.NewReader(a.Args),
		Stdout: &limited{&out, maxFetch}, Stderr: os.Stderr})
	if err != nil {
		return answer{Error: err.Error()}
	}
	var r tool.Result
	if err := record.Decode(out.Bytes(), &r); err != nil || code != 0 {
		return answer{Error: fmt.Sprintf("the process that reads from the web exited with status %d and without a result", code)}
	}
	return answer{Result: &r}
}

// limited passes on so many bytes and throws the rest away: a cut answer is not a result.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
