package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// Help is the help of a program or of one of its commands: the result of "help" and --help.
type Help struct {
	App      string        `json:"app"`
	Summary  string        `json:"summary"`
	Long     string        `json:"long,omitzero"`
	Commands []CommandHelp `json:"commands"`
	Flags    []FlagHelp    `json:"flags,omitzero"` // of a whole program: those that every command takes
	one      bool
	name     string
}

// CommandHelp describes one command.
type CommandHelp struct {
	Name     string     `json:"name"`
	Envelope string     `json:"envelope"`
	Usage    string     `json:"usage"`
	Summary  string     `json:"summary"`
	Long     string     `json:"long,omitzero"`
	Example  string     `json:"example"`
	HandOver bool       `json:"hand_over"`
	Offered  []string   `json:"offered,omitzero"` // the names that clawsh has for it
	Flags    []FlagHelp `json:"flags"`
}

// FlagHelp describes one flag.
type FlagHelp struct {
	Name      string `json:"name"`
	Shorthand string `json:"shorthand,omitzero"`
	Type      string `json:"type"`
	Value     string `json:"value,omitzero"` // what stands for its value, such as FILE
	Default   string `json:"default,omitzero"`
	Usage     string `json:"usage"`
}

func helpCommand(p *program) Command {
	return Command{Name: "help", Args: "[COMMAND]", Max: -1, Summary: "show what a command does",
		Example: p.Name + " help",
		Complete: func(context.Context, *Call) (list []Value) {
			for _, name := range p.names() {
				if !strings.Contains(name, " ") {
					list = append(list, Value{Name: name})
				}
			}
			return list
		},
		Run: func(ctx context.Context, c *Call) (Result, error) {
			name := strings.Join(c.Args, " ")
			if name != "" && !p.has(name) {
				return nil, p.unknownCommand(name)
			}
			for _, handed := range p.Commands {
				if handed.HandOver && handed.Name == name && !c.JSON() { // the stage knows its flags
					c.Raw = []string{"--help"}
					return handed.Run(ctx, c)
				}
			}
			return helpFor(p, name), nil
		}}
}

func (p *program) has(name string) bool {
	for _, c := range p.Commands {
		if n := c.Name; n != "" && n == name || strings.HasPrefix(n, name+" ") {
			return true
		}
	}
	return name == "help" || name == "completion"
}

func completionCommand(p *program) Command {
	return Command{Name: "completion", Args: "bash|zsh|fish|powershell", Min: 1, Max: 1,
		Summary: "print a shell completion script",
		Example: "source <(" + p.Name + " completion bash)",
		Complete: func(context.Context, *Call) []Value {
			return []Value{{Name: "bash"}, {Name: "zsh"}, {Name: "fish"}, {Name: "powershell"}}
		},
		Run: func(_ context.Context, c *Call) (Result, error) {
			script, err := p.script(c.Args[0])
			return completion{Shell: c.Args[0], Script: script}, err
		}}
}

type completion struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (c completion) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, c.Script)
	return err
}

// helpFor describes the command or group of that name, or the whole program.
func helpFor(p *program, name string) Help {
	h := Help{App: p.Name, Summary: p.Summary, Long: p.Long, Commands: []CommandHelp{}}
	all := append(append([]Command{}, p.Commands...), helpCommand(p), completionCommand(p))
	for _, c := range all {
		if c.Hidden && c.Name != name || name != "" && c.Name != name && !strings.HasPrefix(c.Name, name+" ") {
			continue
		}
		d := describe(p.Name, c)
		if p.global.As != "" && c.Name == name {
			d.Usage, d.Example, d.Long = p.told(c, d.Usage), p.told(c, d.Example), p.told(c, d.Long)
			_, d.Name, _ = strings.Cut(p.global.As, " ")
			d.Envelope = d.Name
		}
		h.Commands = append(h.Commands, d)
	}
	if name == "" && p.root != nil {
		h.Flags = flagHelps(p.root.PersistentFlags())
	}
	h.name = name
	h.one = name != "" && len(h.Commands) == 1
	return h
}

func describe(app string, c Command) CommandHelp {
	d := CommandHelp{Name: c.Name, Envelope: c.envelope(app), Usage: usageLine(app, c), Summary: c.Summary,
		Long: c.Long, Example: c.Example,
		HandOver: c.HandOver, Offered: c.Offered, Flags: []FlagHelp{}}
	d.Flags = append(d.Flags, flagHelps(flagSet(c))...)
	return d
}

func flagHelps(flags *pflag.FlagSet) (list []FlagHelp) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			value, usage := pflag.UnquoteUsage(f)
			list = append(list, FlagHelp{f.Name, f.Shorthand, f.Value.Type(), value, f.DefValue, usage})
		}
	})
	return list
}

const everyFlag = "\nEvery command takes -C DIR, --config FILE, --output-format text|json, --jq EXPR and --help.\n"

// WriteText writes the help as a page.
func (h Help) WriteText(w io.Writer) error {
	at := slices.IndexFunc(h.Commands, func(c CommandHelp) bool { return c.Name == h.name })
	switch {
	case h.one:
		return h.Commands[0].writePage(w)
	case h.name == "":
		fmt.Fprintf(w, "%s: %s\n", h.App, h.Summary)
		if h.Long != "" {
			fmt.Fprintf(w, "\n%s\n", strings.Trim(h.Long, "\n"))
		}
	case at >= 0:
		h.Commands[at].writeHead(w)
	default:
		fmt.Fprintf(w, "usage: %s %s COMMAND\n", h.App, h.name)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nCommands:")
	for _, c := range h.Commands {
		fmt.Fprintf(t, "  %s\t%s\n", c.Usage, c.Summary)
	}
	t.Flush()
	if at >= 0 {
		h.Commands[at].writeFlags(w)
		writeExample(w, h.Commands[at].Example)
	}
	_, err := io.WriteString(w, everyFlag)
	return err
}

// writeHead writes what a command is for.
func (c CommandHelp) writeHead(w io.Writer) {
	fmt.Fprintf(w, "usage: %s\n\n%s\n", c.Usage, c.Summary)
	if c.Long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if c.HandOver {
		fmt.Fprintf(w, "\nIts flags: clawsh %s --help\n", c.Name)
	}
}

func (c CommandHelp) writePage(w io.Writer) error {
	c.writeHead(w)
	c.writeFlags(w)
	writeExample(w, c.Example)
	_, err := io.WriteString(w, everyFlag)
	return err
}

func (c CommandHelp) writeFlags(w io.Writer) {
	if len(c.Flags) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nFlags:")
	for _, f := range c.Flags {
		short := "    "
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		fmt.Fprintf(t, "  %s--%s\t%s\n", short, strings.TrimSpace(f.Name+" "+f.Value), f.Usage)
	}
	t.Flush()
}

func writeExample(w io.Writer, example string) {
	if example != "" {
		fmt.Fprintf(w, "\nExample:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n  "))
	}
}
