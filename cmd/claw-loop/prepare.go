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
	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/loop"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
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
		MaxToolRounds: cfg.Limits.MaxToolRounds, MaxTokens: int64(cfg.Limits.MaxTokens), MaxCost: cfg.Limits.MaxCost,
		Budget: conversation.Budget{Messages: cfg.Limits.ContextMessages, Tokens: cfg.Context.MaxTokens, Bytes: maxSentBytes}, CompactAt: cfg.Context.CompactAtTokens,
		Timeout: time.Duration(cfg.Limits.TurnTimeoutS * float64(time.Second)), Event: c.Event, Warn: warn(c)}
	a := cfg.Agents[o.agent]
	if lo.Provider == "" {
		lo.Provider = a.Provider
	}
	if lo.Model == "" {
		lo.Model = a.Model
	}
	o.override(lo, c)
	if lo.MaxToolRounds < 0 || lo.Timeout < 0 || lo.MaxTokens < 0 || !(lo.MaxCost >= 0) {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--max-tool-rounds, --max-tokens, --max-cost and --timeout must not be negative")
	}
	return lo, priced(cfg, lo)
}

// maxSentBytes bounds the texts of a request: with what JSON adds they stay below record.MaxLineBytes but for the strangest ones.
const maxSentBytes = record.MaxLineBytes / 4

// warn logs what went wrong and does not end a turn.
func warn(c *command.Call) func(event string, attrs ...any) {
	return func(event string, attrs ...any) {
		c.Log.Warn(strings.ReplaceAll(event, "_", " "), append([]any{"event", event}, attrs...)...)
	}
}

// priced says what usage costs, and refuses a limit of cost where that is not known before anything is spent.
func priced(cfg *config.Config, lo *loop.Options) error {
	if lo.MaxCost <= 0 {
		return nil
	}
	provider, model := cfg.Model(lo.Agent, lo.Provider, lo.Model)
	lo.Price = func(who, reported string, u record.Usage) (float64, bool) {
		return cfg.Price(who, model, reported, u.InputTokens, u.OutputTokens)
	}
	return cfg.CheckPrices(provider, model)
}

// override takes the limits from flags that are given.
func (o *options) override(lo *loop.Options, c *command.Call) {
	if c.Changed("max-tool-rounds") {
		lo.MaxToolRounds = o.rounds
	}
	if c.Changed("timeout") {
		lo.Timeout = o.timeout
	}
	if c.Changed("max-tokens") {
		lo.MaxTokens = o.maxTokens
	}
	if c.Changed("max-cost") {
		lo.MaxCost = o.maxCost
	}
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

// resumed is how many times the budget is asked for when a conversation goes on: what is over the budget is there to be
// summarised, and a conversation of years does not take a hundred requests before its next turn.
const resumed = 4

// resume asks claw-mem for the conversation to go on with, at most so many estimated tokens of it; 0 is as much as there can be.
func (o *options) resume(ctx context.Context, s *sibling.Programs, lo *loop.Options, tokens int) error {
	which := []string{"--agent", o.agent}
	switch {
	case o.conversation != "":
		which = append(which, "--conversation", o.conversation)
	case o.latest:
		which = append(append(which, "--latest"), s.Place()...)
	default:
		return nil
	}
	found, err := load(ctx, s, tokens, which...)
	if e := envelope.From(err); e != nil && e.Code == "not_found" && o.latest {
		return nil // there is none, or it was put away: a new one begins
	}
	if err == nil {
		lo.ConversationID, lo.Conversation, lo.LeftOut = found.id, found.Conversation, found.leftOut
	}
	return err
}

// loaded is what claw-mem has of a conversation.
type loaded struct {
	conversation.Conversation
	id      string
	leftOut int
}

func load(ctx context.Context, s *sibling.Programs, tokens int, which ...string) (l loaded, err error) {
	var found struct {
		ConversationID string           `json:"conversation_id"`
		Messages       []record.Message `json:"messages"`
		Turns          []struct {
			TurnID       string `json:"turn_id"`
			LastRecordID string `json:"last_record_id"`
			Messages     int    `json:"messages"`
		} `json:"turns"`
		Summary struct {
			Content string `json:"content"`
		} `json:"summary"`
		LeftOut int `json:"left_out"`
	}
	args := append([]string{"context", "--limit", "0", "--max-tokens", fmt.Sprint(tokens)}, which...) // the loop chooses, each time it sends
	if err := s.Query(ctx, &found, "claw-mem", args...); err != nil {
		return l, err
	}
	l.id, l.Summary, l.leftOut = found.ConversationID, found.Summary.Content, found.LeftOut
	rest := found.Messages
	if l.Summary != "" && len(rest) > 0 {
		rest = rest[1:]
	}
	for _, t := range found.Turns {
		if t.Messages < 0 || t.Messages > len(rest) {
			return l, fmt.Errorf("claw-mem says that the turn %q has %s, and there are %d", t.TurnID, spelling.Count(t.Messages, "message"), len(rest))
		}
		l.Turns = append(l.Turns, conversation.Turn{ID: t.TurnID, Record: t.LastRecordID, Messages: rest[:t.Messages:t.Messages]})
		rest = rest[t.Messages:]
	}
	return l, nil
}
