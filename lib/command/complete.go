package command

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clawsh/lib/terminal"
)

// Value is one that may stand in a place of the command line, and what it is, for the shell's completion.
type Value struct{ Name, Description string }

// Complete gives the values for a place. What goes wrong means that there are none: nobody wants to read errors while
// typing.
type Complete func(ctx context.Context, c *Call) []Value

// Relay gives the values for the last word of Call.Raw, for a command that belongs to another program; files tells that
// the names of files may stand there, too.
type Relay func(ctx context.Context, c *Call) (values []Value, files bool)

// completes tells the flag library what may stand in the places of a command, if it is asked for that.
func (p *program) completes(ctx context.Context, node *cobra.Command, c Command) {
	if !p.asked() {
		return
	}
	node.ValidArgsFunction = func(_ *cobra.Command, args []string, word string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		call := p.completing(args, word)
		switch {
		case c.Relay != nil:
			values, files := c.Relay(ctx, call)
			// offered anyway
			values = slices.DeleteFunc(values,
				func(v Value) bool { return node.Flag(strings.TrimPrefix(v.Name, "--")) != nil })
			if files && len(values) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return p.offered(word, values)
		case c.Complete != nil && p.confine(c, call) == nil:
			return p.offered(word, c.Complete(ctx, call))
		}
		return nil, places(c.Args)
	}
	node.Flags().VisitAll(func(f *pflag.Flag) {
		list := choices(f.Usage)
		name, usage := pflag.UnquoteUsage(f)
		f.Usage = usage
		node.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, args []string, word string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			call := p.completing(args, word)
			if len(list) > 0 {
				return p.offered(word, list)
			}
			if complete := p.flagValues(c, f.Name); complete != nil && p.confine(c, call) == nil {
				return p.offered(word, complete(ctx, call))
			}
			return nil, places(name)
		})
	})
}

// formats completes the flag that every command has.
func (p *program) formats(t *tree) {
	if p.asked() {
		t.PersistentFlags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
		t.MarkPersistentFlagDirname("workspace")
		t.RegisterFlagCompletionFunc("output-format",
			cobra.FixedCompletions([]cobra.Completion{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	}
}

// asked tells whether the shell's completion asks.
func (p *program) asked() bool {
	return len(p.args) > 0 && strings.HasPrefix(p.args[0], cobra.ShellCompRequestCmd)
}

// completing is the call in which values are looked for.
func (p *program) completing(args []string, word string) *Call {
	return &Call{App: p.Name, noWorkspace: p.NoWorkspace, Args: args, Raw: append(args[:len(args):len(args)], word),
		Stdin: p.stdin, Stdout: io.Discard, Stderr: io.Discard, Getenv: p.getenv,
		Environ: p.secrets.Environ(p.environ), Secrets: p.secrets,
		Log: newLogger(p.Name, io.Discard, p.getenv, p.secrets), Global: p.global,
		Changed: func(string) bool { return false }}
}

// flagValues gives the values of a flag: the command's own, the program's, or what the configuration knows.
func (p *program) flagValues(c Command, flag string) Complete {
	if f := c.CompleteFlags[flag]; f != nil {
		return f
	}
	if f := p.Values[flag]; f != nil {
		return f
	}
	switch flag {
	case "provider":
		return Providers
	case "model":
		return Models
	case "agent":
		return Agents
	case "tool":
		return Tools
	}
	return nil
}

// offered are the values that a shell may offer. What a shell would have to quote is left out, and so is what looks
// like a flag where none was begun: whatever a shell does with names, these do nothing.
func (p *program) offered(word string, values []Value) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, v := range values {
		if flag := strings.HasPrefix(v.Name, "-"); bare(strings.TrimLeft(v.Name, "-")) &&
			(!flag || strings.HasPrefix(word, "-")) {
			list = append(list, cobra.CompletionWithDesc(v.Name, terminal.Escape(p.secrets.Text(v.Description))))
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

const maxName = 250

// bare tells whether a name means itself in every shell.
func bare(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return name != "" && len(name) <= maxName && strings.Trim(name, letters+"_./:@%+,-") == "" &&
		strings.IndexAny(name[:1], letters+"_./") == 0
}

// places tells whether names of files or directories may stand where a usage line has that word.
func places(word string) cobra.ShellCompDirective {
	switch {
	case strings.Contains(word, "FILE") || strings.Contains(word, "OLD") || strings.Contains(word, "KEY"):
		return cobra.ShellCompDirectiveDefault
	case strings.Contains(word, "DIR"):
		return cobra.ShellCompDirectiveFilterDirs
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// choices are the values that the usage of a flag lists: "the LEVEL: readonly, supervised or full".
func choices(usage string) (list []Value) {
	usage = regexp.MustCompile(` \([^)]*\)`).ReplaceAllString(usage, "")
	m := regexp.MustCompile("`[A-Z]+`(?:[^`]*:)? ((?:[a-z_-]+, )+[a-z_-]+(?: or [a-z_-]+)?|[a-z_-]+ or [a-z_-]+)$").
		FindStringSubmatch(usage)
	if m == nil {
		return nil
	}
	for _, w := range strings.FieldsFunc(strings.ReplaceAll(m[1], " or ", ", "),
		func(r rune) bool { return r == ',' || r == ' ' }) {
		list = append(list, Value{Name: w})
	}
	return list
}

// Offered reads what a program of ours prints for a shell's completion: a line for each value, with a tab before what
// it is, and at the end a colon and a number.
func Offered(out string) (values []Value, files bool) {
	lines, directive, _ := strings.Cut("\n"+out, "\n:")
	for line := range strings.Lines(lines) {
		if name, description, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t"); name != "" {
			values = append(values, Value{Name: name, Description: description})
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(directive))
	return values, err == nil && cobra.ShellCompDirective(n)&cobra.ShellCompDirectiveNoFileComp == 0
}
