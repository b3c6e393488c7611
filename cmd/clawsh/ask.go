package main

import (
	"cmp"
	"context"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/onboard"
	"clawsh/lib/record"
	"clawsh/lib/session"
	"clawsh/lib/terminal"
	"clawsh/lib/turn"
)

// askOptions are the flags of a turn, and those that are about its message.
type askOptions struct {
	turn.Options
	message  string
	noStdin  bool
	metadata []string
}

func (o *askOptions) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.message, "message", "m", "", "answer `MESSAGE` and exit")
	o.Options.Flags(f)
	f.BoolVarP(&o.noStdin, "no-stdin", "n", false, "do not read standard input")
	f.StringArrayVar(&o.metadata, "metadata", nil, "add `KEY=VALUE` to the metadata of the request (repeatable)")
}

// check refuses what cannot be meant.
func (o *askOptions) check(c *command.Call) error {
	if o.Events && c.JSON() {
		return envelope.Errorf(envelope.ExitUsage, "usage",
			"--events writes records; --output-format json and --jq are for a single answer")
	}
	if _, err := o.userMetadata(); err != nil {
		return err
	}
	o.Model = cmp.Or(o.Model, c.Getenv("CLAWSH_MODEL"))
	return o.Check(c.Changed)
}

// ask is clawsh without a command: one message, one answer.
func ask() command.Command {
	var o askOptions
	return command.Command{OwnSignals: true, Args: "[MESSAGE...]", Max: -1, Summary: "answer one message",
		Long:          "The message is MESSAGE (one argument or several) or -m, followed by standard input if it is piped; or standard input alone.",
		Example:       "clawsh \"What files are in this project?\"\ncat error.log | clawsh -m \"Which service is failing?\"",
		Flags:         o.flags,
		CompleteFlags: turnFlags(),
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if err := o.check(c); err != nil {
				return nil, err
			}
			if c.Bare && stdinIsTerminal() {
				return c.Help(), nil
			}
			if o.message == "" && len(c.Args) == 0 && stdinIsTerminal() {
				return nil, envelope.Errorf(envelope.ExitUsage, "usage", "no message").
					WithHint(`for example: clawsh "What files are here?"; for a conversation: clawsh agent; for all commands: clawsh --help`)
			}
			return answer(ctx, c, &o)
		}}
}

func stdinIsTerminal() bool { return terminal.IsTerminal(os.Stdin) }

// userMetadata is the object that --metadata describes, nil for none.
func (o *askOptions) userMetadata() (record.Raw, error) {
	if len(o.metadata) == 0 {
		return nil, nil
	}
	object := map[string]string{}
	for _, pair := range o.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := object[key]; !ok || key == "" || twice || !utf8.ValidString(pair) {
			return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--metadata %q: want KEY=VALUE, each key once",
				terminal.Escape(pair))
		}
		object[key] = value
	}
	return record.Encode(object)
}

// input puts the message together.
func (o *askOptions) input(ctx context.Context, c *command.Call) (string, error) {
	parts := []string{o.message}
	if len(c.Args) > 0 {
		if o.message != "" {
			return "", envelope.Errorf(envelope.ExitUsage, "usage", "give the message either as argument or with -m")
		}
		if err := misspelt(c.Args); err != nil {
			return "", err
		}
		parts[0] = strings.Join(c.Args, " ")
	}
	if !o.noStdin && !stdinIsTerminal() {
		piped, err := session.ReadPiped(ctx, c.Stdin, c.Tell)
		if err != nil {
			return "", err
		}
		parts = append(parts, piped)
	}
	message := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if !utf8.ValidString(message) {
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "the message is not UTF-8 text")
	}
	if message == "" {
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "the message is empty").
			WithHint(`write it as an argument, clawsh "message", or to standard input`)
	}
	return message, nil
}

// answer runs one turn and prints its answer.
func answer(ctx context.Context, c *command.Call, o *askOptions) (command.Result, error) {
	var message string
	var cfg *config.Config
	err := c.Interruptible(ctx, func(ctx context.Context) (err error) {
		if message, err = o.input(ctx, c); err == nil {
			cfg, err = o.load(ctx, c)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	o.Stream = !c.JSON() && (o.Stream || terminal.IsTerminal(os.Stdout) && !o.Events)
	metadata, err := o.userMetadata()
	if err != nil {
		return nil, err
	}
	s, err := session.Start(ctx, c, cfg, session.NewCommandLine(c, o.Stream, o.Events), o.Args(c.Changed))
	if err != nil {
		return nil, err
	}
	a, err := s.Turn(message, metadata)
	if err != nil {
		s.Stop()
		return nil, err
	}
	s.Close()
	return a, s.Failure(a.Final)
}

// load loads the configuration and checks what the turn wants against it.
func (o *askOptions) load(ctx context.Context, c *command.Call) (*config.Config, error) {
	cfg, err := loadConfig(ctx, c)
	if e := envelope.From(err); e != nil && e.Code == "not_initialised" && o.NoSave {
		o.NoTools = true // which need the gate's keys; a turn without them needs nothing on disk
		cfg, err = c.Config()
	}
	if err == nil {
		_, err = o.Limits(cfg, c.Changed) // claw-loop would refuse them, too, but not in the answer's format
	}
	return cfg, err
}

// loadConfig loads the configuration and insists on a home that init has made.
func loadConfig(ctx context.Context, c *command.Call) (*config.Config, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	if !cfg.Channels.CLI.Enabled {
		return nil, envelope.Errorf(envelope.ExitConfig, "channel.disabled",
			"the command line is disabled: channels.cli.enabled is false")
	}
	if _, err := os.Stat(cfg.PermitPubPath()); err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "not_initialised", "clawsh is not set up in %s", cfg.Home).
			WithHint("run: clawsh init")
	}
	if err := onboard.Admit(ctx, cfg); err != nil {
		return nil, err
	}
	if info, err := os.Stat(cfg.WorkspaceDir); err != nil || !info.IsDir() {
		return nil, envelope.Errorf(envelope.ExitConfig, "workspace.missing", "the workspace %s is not a directory",
			terminal.Escape(cfg.WorkspaceDir)).
			WithHint("run: clawsh init")
	}
	return cfg, nil
}
