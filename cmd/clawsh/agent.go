package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/loop"
	"clawsh/lib/session"
	"clawsh/lib/sibling"
	"clawsh/lib/terminal"
)

const replHelp = `/exit             leave (so does Ctrl-D)
/tools            list the tools
/memory QUERY     search what was said
/policy           show the security policy in force
/help             show this
A line that ends in \ continues on the next one; pasted lines stay together. Ctrl-C ends a running turn.
`

// agent is the conversation on the terminal.
func agent() command.Command {
	var o askOptions
	return command.Command{Name: "agent", OwnSignals: true, Summary: "converse on the terminal, or answer -m MESSAGE",
		Long:          "Without a terminal, each line of standard input is one message.\n\n" + replHelp,
		Example:       "clawsh agent\nclawsh agent -m \"What files are in this project?\"",
		Flags:         o.flags,
		CompleteFlags: turnFlags(),
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if err := o.check(c); err != nil {
				return nil, err
			}
			if o.message != "" {
				return answer(ctx, c, &o)
			}
			return converse(ctx, c, &o)
		}}
}

// repl is a conversation on the command line.
type repl struct {
	call   *command.Call
	config *config.Config
}

func converse(ctx context.Context, c *command.Call, o *askOptions) (command.Result, error) {
	var cfg *config.Config
	err := c.Interruptible(ctx, func(ctx context.Context) (err error) {
		cfg, err = o.load(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	metadata, err := o.userMetadata()
	if err != nil {
		return nil, err
	}
	interactive := stdinIsTerminal() && terminal.IsTerminal(os.Stdout) && !o.Events && !c.JSON()
	o.Stream = !c.JSON() && (o.Stream || interactive)
	s, err := session.Start(ctx, c, cfg, session.NewCommandLine(c, o.Stream, o.Events), o.Args(c.Changed))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	in := session.NewPipedLines(c.Stdin)
	if interactive {
		fmt.Fprintf(c.Stdout, "clawsh %s, %s. /help for commands, /exit to leave.\n", command.Version,
			modelName(cfg, o))
		path := cfg.HistoryPath()
		if o.NoSave {
			path = ""
		}
		in = session.NewTerminalLines(path, c.Secrets.Text)
	}
	r := &repl{call: c, config: cfg}
	d := session.Conversation{Session: s, Metadata: metadata, Answered: r.answered,
		Command: func(line string) bool { return r.command(ctx, line) }}
	last, err := d.Run(in)
	if err != nil {
		return nil, err
	}
	return command.Records(), command.Exit(loop.ExitCode(last))
}

func modelName(cfg *config.Config, o *askOptions) string {
	provider, model := cfg.Model(o.Agent, o.Provider, o.Model)
	return terminal.Escape(provider + " (" + model + ")")
}

// answered prints what a turn has ended with.
func (r *repl) answered(a session.Answer, failure error) error {
	if r.call.JSON() {
		return r.call.Print(a, failure)
	}
	if err := a.WriteText(r.call.Secrets.NewLineWriter(r.call.Stdout)); err != nil {
		return err
	}
	if failure != nil {
		r.call.Complain(failure)
	}
	return nil
}

// command runs a /command and tells whether to leave.
func (r *repl) command(ctx context.Context, line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	var err error
	switch word {
	case "/exit", "/quit":
		return true
	case "/help":
		_, err = io.WriteString(r.call.Stdout, replHelp)
	case "/tools":
		err = r.sibling(ctx, "claw-exec", "list")
	case "/policy":
		err = r.sibling(ctx, "claw-gate", "policy")
	case "/memory":
		if strings.TrimSpace(rest) == "" {
			err = errors.New("/memory needs a query: /memory QUERY")
			break
		}
		err = r.sibling(ctx, "claw-mem", "search", "--", strings.TrimSpace(rest))
	default:
		err = fmt.Errorf("unknown command %s: /help lists them", terminal.Escape(word))
	}
	if err != nil {
		fmt.Fprintf(r.call.Stderr, "clawsh: %s\n", terminal.Sanitize(r.call.Secrets.Text(err.Error())))
	}
	return false
}

// sibling runs a stage's command on our own output, where it says itself what it could not do.
func (r *repl) sibling(ctx context.Context, name string, args ...string) error {
	_, err := sibling.New(r.config, r.call.Environ, os.Stderr).Show(ctx, name, args...)
	return err
}
