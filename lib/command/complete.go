package command

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"clawsh/lib/terminal"
)

// Value is one that may stand in a place of the command line, and what it is, for the shell's completion.
type Value struct{ Name, Description string }

// Complete gives the values for a place. What goes wrong means that there are none: nobody wants to read errors while typing.
type Complete func(ctx context.Context, c *Call) []Value

func (p *program) completes(ctx context.Context, node *cobra.Command, c Command) {
	with := func(complete Complete) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			call := &Call{App: p.Name, noWorkspace: p.NoWorkspace, Stdin: p.stdin, Stdout: io.Discard, Stderr: io.Discard, Getenv: p.getenv, Environ: p.secrets.Environ(p.environ), Secrets: p.secrets,
				Log: newLogger(p.Name, io.Discard, p.getenv, p.secrets), Global: p.global, Changed: func(string) bool { return false }}
			var list []cobra.Completion
			for _, v := range complete(ctx, call) {
				list = append(list, cobra.CompletionWithDesc(terminal.Escape(v.Name), terminal.Escape(p.secrets.Text(v.Description))))
			}
			return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
	}
	if c.Complete != nil {
		node.ValidArgsFunction = with(c.Complete)
	}
	for flag, complete := range c.CompleteFlags {
		node.RegisterFlagCompletionFunc(flag, with(complete))
	}
}
