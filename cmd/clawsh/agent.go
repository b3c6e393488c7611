package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/loop"
	"clawsh/lib/process"
	"clawsh/lib/record"
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

// lineReader reads the user's messages; io.EOF ends the conversation.
type lineReader interface {
	ReadMessage() (string, error)
	Leave() // gives the terminal back while a message is read
}

// repl is a conversation: one claw-loop for all its turns.
type repl struct {
	call    *command.Call
	config  *config.Config
	session *session
	channel *cli
	last    record.Final

	metadata record.Raw
	signals  chan command.Signal // that come while no turn runs
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
	interactive := stdinIsTerminal() && terminal.IsTerminal(os.Stdout)
	interactive = interactive && !o.events && !c.JSON()
	stream := !c.JSON() && (o.stream || interactive)
	r := &repl{call: c, config: cfg, channel: newCLI(c, stream)}
	r.channel.events = o.events
	if r.metadata, err = o.userMetadata(); err != nil {
		return nil, err
	}
	if r.session, err = startSession(ctx, c, cfg, r.channel, o.loopArgs(c, stream)); err != nil {
		return nil, err
	}
	r.signals = make(chan command.Signal, 1)
	r.session.whenIdle(func(sig command.Signal) {
		select {
		case r.signals <- sig:
		default:
		}
	})
	c.Event(command.EventChannelStarted, "channel", r.channel.Name())
	var in lineReader = &pipedLines{bufio.NewReaderSize(c.Stdin, maxPipedBytes)}
	if interactive {
		fmt.Fprintf(c.Stdout, "clawsh %s, %s. /help for commands, /exit to leave.\n", command.Version, modelName(cfg, o))
		path := cfg.HistoryPath()
		if o.noSave {
			path = ""
		}
		in = newTerminalLines(openHistory(path, c.Secrets.Text))
	}
	err = r.run(ctx, in)
	r.session.close()
	if err != nil {
		return nil, err
	}
	return command.Records(), command.Exit(loop.ExitCode(r.lastOr()))
}

func modelName(cfg *config.Config, o *askOptions) string {
	provider, model := o.provider, o.model
	if provider == "" {
		provider = cfg.DefaultProvider
	}
	if model == "" {
		model = cfg.Providers[provider].Model
	}
	return terminal.Escape(provider + " (" + model + ")")
}

func (r *repl) lastOr() record.Final {
	if r.last.StopReason == "" {
		return record.Final{StopReason: record.StopFinalText}
	}
	return r.last
}

// run reads messages and answers them until the end.
func (r *repl) run(ctx context.Context, in lineReader) error {
	for {
		message, err := r.read(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		message = strings.TrimSpace(message)
		switch {
		case message == "":
		case strings.HasPrefix(message, "/") && !strings.Contains(message, "\n"):
			if r.command(ctx, message) {
				return nil
			}
		default:
			if err := r.turn(message); err != nil {
				return err
			}
		}
	}
}

// read reads one message. A signal meanwhile ends the conversation: Ctrl-C at the prompt is none.
func (r *repl) read(in lineReader) (string, error) {
	type read struct {
		message string
		err     error
	}
	done := make(chan read, 1)
	go func() {
		message, err := in.ReadMessage()
		if err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("read a message: %w", err)
		}
		done <- read{message, err}
	}()
	select {
	case got := <-done:
		return got.message, got.err
	case sig := <-r.signals:
		in.Leave()
		return "", interrupted(sig)
	}
}

// turn answers one message. A turn that failed is reported; the conversation goes on.
func (r *repl) turn(message string) error {
	r.channel.segment.Reset()
	final, err := r.session.turn(message, r.metadata)
	if err != nil {
		return err
	}
	r.last = final
	failure := r.session.turnError(final)
	r.session.again()
	if r.call.JSON() {
		return r.call.Print(turnResult{final, false}, failure)
	}
	clean := r.call.Secrets.NewLineWriter(r.call.Stdout)
	if err := (turnResult{final, r.channel.shown(final)}).WriteText(clean); err != nil {
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

// sibling runs a stage's command on our own output.
func (r *repl) sibling(ctx context.Context, name string, args ...string) error {
	spec, err := loop.NewSiblings(r.config, r.call.Environ, os.Stderr).Spec(name, args...)
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	spec.Stdin, spec.Stdout = null, os.Stdout
	st, err := process.Start(ctx, spec)
	if err != nil {
		return err
	}
	st.Wait()
	return nil
}
