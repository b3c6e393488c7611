package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clawsh/lib/envelope"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// tree is the command table as the flag library sees it, and what a run of it left behind.
type tree struct {
	*cobra.Command
	ran bool
	res Result
	err error
}

// execute parses the arguments and runs the command that they name.
func (p *program) execute(ctx context.Context, args []string) (Result, error) {
	p.command = p.Name
	if err := checkFormat(p.format); err != nil {
		p.format = "text"
		return nil, err
	}
	t := p.build(ctx)
	p.root = t
	t.SetArgs(args)
	err := t.ExecuteContext(ctx)
	if t.ran {
		return t.res, t.err
	}
	if err != nil {
		return nil, p.usageError(args, err)
	}
	return t.res, nil
}

func checkFormat(format string) error {
	if format != "text" && format != "json" {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--output-format %q: want text or json",
			terminal.Escape(format))
	}
	return nil
}

// build makes the flag library's tree from the table.
func (p *program) build(ctx context.Context) *tree {
	t := &tree{Command: &cobra.Command{Use: p.Name}}
	t.SilenceErrors, t.SilenceUsage = true, true
	t.CompletionOptions.DisableDefaultCmd = true
	t.SetOut(p.stdout)
	t.SetErr(p.stderr)
	g := t.PersistentFlags()
	g.StringVar(&p.global.Config, "config", "", "read the configuration from `FILE`")
	g.StringVarP(&p.global.Workspace, "workspace", "C", "", "use `DIR` as workspace, whatever the configuration says")
	g.StringVar(&p.global.Format, "output-format", "text", "print text or one JSON envelope: `FORMAT` text or json")
	g.StringVar(&p.global.As, "as", "", "report as the command `NAME`")
	g.Lookup("as").Hidden = true
	g.StringVar(&p.global.JQ, "jq", "", "apply the jq expression `EXPR` to the JSON envelope and print the results")
	p.formats(t)
	commands := append(slices.Clone(p.Commands), helpCommand(p), completionCommand(p))
	for _, c := range commands {
		p.attach(ctx, t, c)
	}
	t.SetHelpCommand(p.child(t, t.Command, "help", "help"))
	t.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		p.named(nameOf(cmd))
		t.ran, t.res = true, helpFor(p, nameOf(cmd))
	})
	t.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		p.named(nameOf(cmd))
		return err
	})
	t.Flags().Bool("version", false, "print the version")
	return t
}

// attach hangs a command into the tree, below groups that are made on the way.
func (p *program) attach(ctx context.Context, t *tree, c Command) {
	node := t.Command
	if c.Name != "" {
		words := strings.Fields(c.Name)
		for i, w := range words {
			node = p.child(t, node, w, strings.Join(words[:i+1], " "))
		}
	}
	node.Short, node.Long, node.Example, node.Hidden = c.Summary, c.Long, c.Example, c.Hidden
	node.Args = cobra.ArbitraryArgs
	node.DisableFlagParsing = c.HandOver
	if c.Flags != nil {
		c.Flags(node.Flags())
	}
	p.completes(ctx, node, c)
	node.RunE = func(cmd *cobra.Command, args []string) error {
		p.named(c.Name)
		t.ran = true
		t.res, t.err = p.run(ctx, cmd, c, args)
		return nil
	}
}

func (p *program) child(t *tree, parent *cobra.Command, word, full string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == word {
			return c
		}
	}
	group := &cobra.Command{Use: word, Short: "commands: " + full, Args: cobra.ArbitraryArgs}
	group.RunE = func(cmd *cobra.Command, args []string) error {
		p.command = full
		names := p.subcommands(full)
		e := envelope.Errorf(envelope.ExitUsage, "usage", "%s needs a command: %s", full, strings.Join(names, ", "))
		t.ran, t.err = true, e
		if len(args) > 0 {
			t.err = p.unknownOf(full, args[0])
		}
		return nil
	}
	parent.AddCommand(group)
	return group
}

// unknownOf is the error for a word that is no command of the group.
func (p *program) unknownOf(group, word string) error {
	names := p.subcommands(group)
	e := envelope.Errorf(envelope.ExitUsage, "usage", "unknown command %q of %s", terminal.Escape(word), group)
	if near := spelling.Nearest(word, names, 2); near != "" {
		return e.WithHint("did you mean %s %s?", p.typed(group), near)
	}
	return e.WithHint("commands: %s", strings.Join(names, ", "))
}

func (p *program) subcommands(group string) []string {
	var names []string
	for _, c := range p.Commands {
		if rest, ok := strings.CutPrefix(c.Name, group+" "); ok && !c.Hidden {
			names = append(names, rest)
		}
	}
	return names
}

// run checks the arguments, sets up signals and logging, and runs one command.
func (p *program) run(ctx context.Context, cmd *cobra.Command, c Command, args []string) (Result, error) {
	if v, _ := cmd.Root().Flags().GetBool("version"); v && c.Name == "" {
		return ThisBuild(p.Name), nil
	}
	if cmd.Flags().Changed("workspace") && p.global.Workspace == "" {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "-C is empty: want a directory")
	}
	if p.global.JQ != "" {
		p.format, p.global.Format = "json", "json"
		if err := checkJQ(p.global.JQ); err != nil {
			return nil, err
		}
		if c.Filter {
			return nil, envelope.Errorf(envelope.ExitUsage, "usage",
				"%s writes records; --jq is for commands that print one result", strings.TrimSpace(p.Name+" "+c.Name)).
				WithHint("use jq after it: … | %s | jq …", strings.TrimSpace(p.Name+" "+c.Name))
		}
	}
	if len(args) > 0 && c.Max == 0 && c.Name != "" && len(p.subcommands(c.Name)) > 0 && !c.HandOver {
		return nil, p.unknownOf(c.Name, args[0])
	}
	if !c.HandOver && (len(args) < c.Min || c.Max >= 0 && len(args) > c.Max) {
		return nil, p.argumentError(c, args)
	}
	ctx, signals := watchSignals(ctx, p.caught, c.OwnSignals, p.getenv("CLAWSH_DRIVEN") != "")
	call := &Call{App: p.Name, noWorkspace: p.NoWorkspace, Args: args, Stdin: p.stdin, Stdout: p.stdout,
		Stderr: p.stderr, Getenv: p.getenv,
		Environ: p.secrets.Environ(p.environ), Secrets: p.secrets,
		Log: newLogger(p.Name, p.stderr, p.getenv, p.secrets), Signals: signals, Changed: cmd.Flags().Changed,
		Global:  p.global,
		jsonLog: jsonLog(p.getenv), complain: p.complain, print: p.print,
		help:    func(name string) Help { return helpFor(p, name) },
		unknown: func(word string) error { return p.unknownOf(c.Name, word) }, Bare: len(p.args) == 0}
	if c.HandOver {
		call.Raw = args
	}
	call.Event(EventStartup, "version", Version, "command", p.command)
	if err := p.confine(c, call); err != nil {
		return nil, err
	}
	res, err := c.Run(ctx, call)
	return res, signalled(ctx, err)
}

func (p *program) argumentError(c Command, args []string) error {
	what := "needs " + c.Args
	if len(args) > 0 && c.Max >= 0 && len(args) > c.Max {
		what = fmt.Sprintf("takes no argument %q", terminal.Escape(args[c.Max]))
		if c.Name == "" && (c.Max == 0 || spelling.Nearest(args[0], p.names(), 1) != "") {
			return p.unknownCommand(args[0])
		}
		if c.Name == "" {
			return envelope.Errorf(envelope.ExitUsage, "usage", "%s takes one argument, not %d", p.Name, len(args)).
				WithHint("quote a message: %s \"…\"", p.Name)
		}
	}
	return envelope.Errorf(envelope.ExitUsage, "usage", "%s %s", p.typed(c.Name), what).
		WithHint("usage: %s", p.told(c, usageLine(p.Name, c)))
}

func (p *program) unknownCommand(word string) error {
	e := envelope.Errorf(envelope.ExitUsage, "usage", "unknown command %q", terminal.Escape(word))
	if near := spelling.Nearest(word, append(p.names(), "help", "completion"), 2); near != "" {
		return e.WithHint("did you mean %s %s?", p.Name, near)
	}
	return e.WithHint("see %s --help", p.Name)
}

func (p *program) names() []string {
	var names []string
	for _, c := range p.Commands {
		if c.Name != "" && !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// usageError explains what the flag library did not like.
func (p *program) usageError(args []string, err error) error {
	msg, _, _ := strings.Cut(err.Error(), "\n")
	msg = plainFlagError(msg)
	if near := p.nearFlag(msg); near != "" {
		return envelope.Errorf(envelope.ExitUsage, "usage", "%s", terminal.Escape(msg)).
			WithHint("did you mean --%s?", near)
	}
	return envelope.Errorf(envelope.ExitUsage, "usage", "%s", terminal.Escape(msg)).
		WithHint("see %s --help", p.typed(p.words))
}

// named sets the name under which the envelope reports.
func (p *program) named(name string) {
	p.command, p.words = name, name
	for _, c := range p.Commands {
		if c.Name == name {
			p.command = c.envelope(p.Name)
		}
	}
	if _, typed, ok := strings.Cut(p.global.As, " "); ok {
		p.command = typed
	}
	if p.command == "" {
		p.command = p.Name
	}
}

// typed is what the user has typed to run a command.
func (p *program) typed(name string) string {
	if p.global.As != "" {
		return p.global.As
	}
	return strings.TrimSpace(p.Name + " " + name)
}

// told is a text about a command, in the words that the user has typed.
func (p *program) told(c Command, text string) string {
	return strings.ReplaceAll(text, strings.TrimSpace(p.Name+" "+c.Name), p.typed(c.Name))
}

func nameOf(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.CommandPath(), " ")
	return rest
}

func usageLine(app string, c Command) string {
	flags := ""
	if c.Flags != nil && !c.HandOver {
		flags = " [FLAGS]"
	}
	return strings.Join(strings.Fields(app+" "+c.Name+flags+" "+c.Args), " ")
}

func flagSet(c Command) *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	if c.Flags != nil {
		c.Flags(f)
	}
	return f
}
