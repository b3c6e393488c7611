package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/onboard"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
	"clawsh/lib/terminal"
)

// toolResult is what became of a call that was made by hand.
type toolResult struct {
	ID        string            `json:"id"`
	Tool      string            `json:"tool"`
	Status    string            `json:"status"`
	Success   bool              `json:"success"`
	Output    string            `json:"output"`
	Error     string            `json:"error,omitzero"`
	Verdict   *record.Verdict   `json:"verdict,omitzero"`
	Metadata  record.ResultMeta `json:"metadata"`
	ReceiptID string            `json:"receipt_id"`
}

func (r toolResult) WriteText(w io.Writer) error {
	if r.Output == "" {
		return nil
	}
	text := r.Output
	if terminal.IsTerminal(os.Stdout) {
		text = terminal.Sanitize(text)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(text, "\n")+"\n")
	return err
}

func toolRun() command.Command {
	var args string
	return command.Command{Name: "tool run", Args: "NAME --json ARGS", Min: 1, Max: 1,
		Summary: "run one tool by hand; the call passes the gate and leaves a receipt like any other",
		Long:    "ARGS is a JSON object, or - to read the object from standard input.",
		Example: `clawsh tool run file_list --json '{"path":"."}'`,
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&args, "json", "{}", "the arguments `ARGS` of the tool, a JSON object, or -")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			if err := onboard.Admit(ctx, cfg); err != nil {
				return nil, err
			}
			raw, err := readArgs(c, args)
			if err != nil {
				return nil, err
			}
			r, err := loop.RunTool(ctx, sibling.New(cfg, c.Environ, os.Stderr), record.ToolCall{V: record.Version,
				Kind: record.KindToolCall, ID: record.NewID("call-"), ConversationID: record.NewID("conv-"),
				TS:   record.Now(),
				Tool: c.Args[0], Args: raw})
			if err != nil {
				return nil, err
			}
			return toolResult{r.ID, r.Tool, r.Status, r.Success, r.Output, r.Error, r.Verdict, r.Metadata, r.ReceiptID},
				toolError(r)
		}}
}

// readArgs checks that the arguments are JSON before anything is started.
func readArgs(c *command.Call, args string) (record.Raw, error) {
	if args == "-" {
		b, err := io.ReadAll(io.LimitReader(c.Stdin, record.MaxLineBytes/2))
		if err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		args = string(b)
	}
	raw, err := record.Canonical([]byte(args))
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--json: %w", err).
			WithHint(`for example: --json '{"path":"."}'`)
	}
	return raw, nil
}

func toolError(r record.ToolResult) error {
	switch {
	case r.Status == record.StatusDenied && r.Verdict != nil && r.Verdict.Rule == "args.invalid":
		return envelope.Errorf(envelope.ExitError, "args.invalid", "%s: %s", terminal.Escape(r.Tool), r.Verdict.Reason).
			WithHint("to see its arguments, run: clawsh tool show %s", terminal.Escape(r.Tool))
	case r.Status == record.StatusDenied && r.Verdict != nil && r.Verdict.Rule == "tool.unknown":
		return envelope.Errorf(envelope.ExitError, "not_found", "%s", r.Verdict.Reason).
			WithHint("to see what each does, run: clawsh tool list")
	case r.Status == record.StatusDenied:
		return envelope.Errorf(envelope.ExitDenied, "denied", "%s: %s", terminal.Escape(r.Tool),
			strings.TrimSpace(r.Error))
	case r.Metadata.Sandbox == record.SandboxUnavailable:
		return envelope.Errorf(envelope.ExitSandbox, "sandbox.unavailable", "%s: %s", terminal.Escape(r.Tool),
			terminal.Escape(r.Error)).
			WithHint("clawsh policy shows which sandboxes work on this machine")
	case !r.Success:
		return envelope.Errorf(envelope.ExitError, "tool.failed", "%s: %s", terminal.Escape(r.Tool), r.Error)
	}
	return nil
}
