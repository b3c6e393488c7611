package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

// resolve merges flags and configuration; flags win.
func (o *options) resolve(cfg *config.Config, c *command.Call) (*loop.Options, error) {
	if o.agent == "" {
		o.agent = cfg.DefaultAgent
	}
	soul, err := cfg.Soul(o.agent)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "agent.unknown", "agent %q: %w", terminal.Escape(o.agent), err)
	}
	if o.system != "" {
		if soul, err = systemPrompt(o.system); err != nil {
			return nil, err
		}
	}
	lo := &loop.Options{Agent: o.agent, SystemPrompt: soul, Provider: o.provider, Model: o.model, Stream: o.stream,
		MaxToolRounds: cfg.Limits.MaxToolRounds, MaxMessages: cfg.Limits.ContextMessages,
		Timeout: time.Duration(cfg.Limits.TurnTimeoutS * float64(time.Second))}
	a := cfg.Agents[o.agent]
	if lo.Provider == "" {
		lo.Provider = a.Provider
	}
	if lo.Model == "" {
		lo.Model = a.Model
	}
	if c.Changed("max-tool-rounds") {
		lo.MaxToolRounds = o.rounds
	}
	if c.Changed("timeout") {
		lo.Timeout = o.timeout
	}
	if lo.MaxToolRounds < 0 || lo.Timeout < 0 {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--max-tool-rounds and --timeout must not be negative")
	}
	return lo, nil
}

const maxPromptBytes = 64 << 10

// systemPrompt reads the file of that name, or takes the text itself. Text that looks like a path must be a file.
func systemPrompt(s string) (string, error) {
	info, err := os.Stat(s)
	if err != nil {
		if strings.ContainsAny(s, "/.") && !strings.ContainsAny(s, " \n") {
			return "", envelope.Errorf(envelope.ExitUsage, "usage", "read the system prompt: %w", err)
		}
		return s, nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxPromptBytes {
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "system prompt %s: want a regular file of at most %d bytes",
			terminal.Escape(s), maxPromptBytes)
	}
	b, err := os.ReadFile(s)
	if err == nil && !utf8.Valid(b) {
		err = fmt.Errorf("it is not UTF-8 text")
	}
	if err != nil {
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "read the system prompt %s: %w", terminal.Escape(s), err)
	}
	return string(b), nil
}

// tools asks claw-exec what tools there are, and keeps the active ones.
func (o *options) tools(ctx context.Context, s *loop.Siblings, lo *loop.Options) error {
	if o.noTools || lo.MaxToolRounds == 0 {
		return nil
	}
	var list struct {
		Tools []struct {
			record.Tool
			Active bool `json:"active"`
		} `json:"tools"`
	}
	if err := s.Query(ctx, &list, "claw-exec", "list"); err != nil {
		return fmt.Errorf("ask claw-exec for its tools: %w", err)
	}
	for _, t := range list.Tools {
		if t.Active {
			lo.Tools = append(lo.Tools, t.Tool)
		}
	}
	return nil
}

// resume asks claw-mem for the conversation to go on with.
func (o *options) resume(ctx context.Context, s *loop.Siblings, lo *loop.Options) error {
	args := []string{"context", "--agent", o.agent, "--limit", fmt.Sprint(lo.MaxMessages)}
	switch {
	case o.conversation != "":
		args = append(args, "--conversation", o.conversation)
	case o.latest:
		args = append(args, "--latest")
	default:
		return nil
	}
	var resumed struct {
		ConversationID string           `json:"conversation_id"`
		Messages       []record.Message `json:"messages"`
	}
	if err := s.Query(ctx, &resumed, "claw-mem", args...); err != nil {
		return err
	}
	lo.ConversationID, lo.Messages = resumed.ConversationID, resumed.Messages
	return nil
}
