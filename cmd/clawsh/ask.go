package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/session"
	"clawsh/lib/terminal"
)

// askOptions are the flags of a turn.
type askOptions struct {
	message, conversation, system, provider, model, agent string
	latest, noStdin, stream, noTools, noProject           bool
	events, noSave                                        bool
	metadata                                              []string
	rounds                                                int
	maxTokens                                             int64
	maxCost                                               float64
	timeout                                               seconds
}

func (o *askOptions) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.message, "message", "m", "", "answer `MESSAGE` and exit")
	f.StringVarP(&o.system, "system", "s", "", "use `PROMPT|FILE` as system prompt")
	f.StringVar(&o.provider, "provider", "", "ask the provider `NAME`")
	f.StringVar(&o.model, "model", "", "use the model `NAME`")
	f.StringVar(&o.agent, "agent", "", "run the agent `ID` (agents/ID/soul.md)")
	f.BoolVarP(&o.latest, "continue", "c", false, "continue the latest conversation of this terminal or directory")
	f.StringVar(&o.conversation, "conversation", "", "continue the conversation `ID`")
	f.BoolVarP(&o.noStdin, "no-stdin", "n", false, "do not read standard input")
	f.IntVar(&o.rounds, "max-tool-rounds", 0, "end the turn after `N` rounds of tool calls (0: offer no tools)")
	f.Int64Var(&o.maxTokens, "max-tokens", 0, "end the turn once it has used `N` tokens (0: no limit)")
	f.Float64Var(&o.maxCost, "max-cost", 0, "end the turn once it has cost `AMOUNT`, in the currency of the prices (0: no limit)")
	f.Var(&o.timeout, "timeout", "end the turn after `DURATION`, such as 90s or 5m")
	f.StringArrayVar(&o.metadata, "metadata", nil, "add `KEY=VALUE` to the metadata of the request (repeatable)")
	f.BoolVar(&o.events, "events", false, "write every record of the turn to standard output, as JSON lines")
	f.BoolVar(&o.noSave, "no-save", false, "do not store the conversation; receipts and audit lines are still written")
	f.BoolVar(&o.stream, "stream", false, "print the answer while it arrives (the default on a terminal)")
	f.BoolVar(&o.noTools, "no-tools", false, "offer no tools to the model")
	f.BoolVar(&o.noProject, "no-project-file", false, "do not send the project file, such as AGENTS.md, to the model")
}

// loopArgs are the flags for claw-loop.
func (o *askOptions) loopArgs(c *command.Call, stream bool) []string {
	var args []string
	for _, f := range []struct{ name, value string }{{"--agent", o.agent}, {"--conversation", o.conversation}, {"--system", o.system},
		{"--provider", o.provider}, {"--model", o.model}} {
		if f.value != "" {
			args = append(args, f.name+"="+f.value)
		}
	}
	for _, f := range []struct {
		name string
		on   bool
	}{{"--continue", o.latest}, {"--stream", stream}, {"--no-tools", o.noTools}, {"--no-project-file", o.noProject},
		{"--events", o.events}, {"--no-save", o.noSave}} {
		if f.on {
			args = append(args, f.name)
		}
	}
	if c.Changed("max-tool-rounds") {
		args = append(args, fmt.Sprintf("--max-tool-rounds=%d", o.rounds))
	}
	if c.Changed("max-tokens") {
		args = append(args, fmt.Sprintf("--max-tokens=%d", o.maxTokens))
	}
	if c.Changed("max-cost") {
		args = append(args, fmt.Sprintf("--max-cost=%g", o.maxCost))
	}
	if c.Changed("timeout") {
		args = append(args, "--timeout="+time.Duration(o.timeout).String())
	}
	return args
}

// check refuses what cannot be meant.
func (o *askOptions) check(c *command.Call) error {
	if c.Changed("conversation") && o.conversation == "" {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--conversation is empty").WithHint("clawsh memory list shows the ids")
	}
	if o.latest && o.conversation != "" {
		return envelope.Errorf(envelope.ExitUsage, "usage", "-c and --conversation cannot be combined")
	}
	if o.noSave && (o.latest || o.conversation != "") {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--no-save cannot continue a conversation")
	}
	if o.events && c.JSON() {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--events writes records; --output-format json and --jq are for a single answer")
	}
	if _, err := o.userMetadata(); err != nil {
		return err
	}
	if o.model == "" {
		o.model = c.Getenv("CLAWSH_MODEL")
	}
	if o.rounds < 0 || o.timeout < 0 || o.maxTokens < 0 || !(o.maxCost >= 0) {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--max-tool-rounds, --max-tokens, --max-cost and --timeout must not be negative")
	}
	return nil
}

// checkPrices refuses a limit of cost where prices are missing. claw-loop would, too, but not in the answer's format.
func (o *askOptions) checkPrices(c *command.Call, cfg *config.Config) error {
	most := cfg.Limits.MaxCost
	if c.Changed("max-cost") {
		most = o.maxCost
	}
	if most <= 0 {
		return nil
	}
	return cfg.CheckPrices(cfg.Model(o.agent, o.provider, o.model))
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
			return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--metadata %q: want KEY=VALUE, each key once", terminal.Escape(pair))
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
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "the message is empty").WithHint(`write it as an argument, clawsh "message", or to standard input`)
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
	stream := !c.JSON() && (o.stream || terminal.IsTerminal(os.Stdout) && !o.events)
	metadata, err := o.userMetadata()
	if err != nil {
		return nil, err
	}
	s, err := session.Start(ctx, c, cfg, session.NewCommandLine(c, stream, o.events), o.loopArgs(c, stream))
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
	if e := envelope.From(err); e != nil && e.Code == "not_initialised" && o.noSave {
		o.noTools = true // which need the gate's keys; a turn without them needs nothing on disk
		cfg, err = c.Config()
	}
	if err == nil {
		err = o.checkPrices(c, cfg)
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
		return nil, envelope.Errorf(envelope.ExitConfig, "channel.disabled", "the command line is disabled: channels.cli.enabled is false")
	}
	if _, err := os.Stat(cfg.PermitPubPath()); err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "not_initialised", "clawsh is not set up in %s", cfg.Home).WithHint("run: clawsh init")
	}
	if err := admit(ctx, c, cfg); err != nil {
		return nil, err
	}
	if info, err := os.Stat(cfg.WorkspaceDir); err != nil || !info.IsDir() {
		return nil, envelope.Errorf(envelope.ExitConfig, "workspace.missing", "the workspace %s is not a directory", terminal.Escape(cfg.WorkspaceDir)).
			WithHint("run: clawsh init")
	}
	return cfg, nil
}
