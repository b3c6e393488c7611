package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
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
func (o *Options) resolve(cfg *config.Config, c *command.Call) (*loop.Options, error) {
	if o.Agent == "" {
		o.Agent = cfg.DefaultAgent
	}
	soul, err := cfg.Soul(o.Agent)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "agent.unknown", "agent %q: %w", terminal.Escape(o.Agent), err)
	}
	if o.System != "" {
		if soul, err = systemPrompt(o.System); err != nil {
			return nil, err
		}
	}
	limits, err := o.Limits(cfg, c.Changed)
	if err != nil {
		return nil, err
	}
	a := cfg.Agents[o.Agent]
	lo := &loop.Options{Agent: o.Agent, SystemPrompt: soul, Provider: cmp.Or(o.Provider, a.Provider),
		Model: cmp.Or(o.Model, a.Model), Stream: o.Stream,
		MaxToolRounds: limits.Rounds, MaxTokens: limits.Tokens, MaxCost: limits.Cost, Timeout: limits.Time,
		Budget: conversation.Budget{Messages: cfg.Limits.ContextMessages, Tokens: cfg.Context.MaxTokens,
			Bytes: maxSentBytes},
		CompactAt: cfg.Context.CompactAtTokens, Event: c.Event, Warn: warn(c)}
	if limits.Cost > 0 {
		_, model := cfg.Model(o.Agent, o.Provider, o.Model)
		lo.Price = func(who, reported string, u record.Usage) (float64, bool) {
			return cfg.Price(who, model, reported, u.InputTokens, u.OutputTokens)
		}
	}
	return lo, nil
}

// maxSentBytes bounds the texts of a request: with what JSON adds they stay below record.MaxLineBytes but for the
// strangest ones.
const maxSentBytes = record.MaxLineBytes / 4

// warn logs what went wrong and does not end a turn.
func warn(c *command.Call) func(event string, attrs ...any) {
	return func(event string, attrs ...any) {
		c.Log.Warn(strings.ReplaceAll(event, "_", " "), append([]any{"event", event}, attrs...)...)
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
		return "", envelope.Errorf(envelope.ExitUsage, "usage",
			"system prompt %s: want a regular file of at most %d bytes",
			terminal.Escape(s), maxPromptBytes)
	}
	b, err := os.ReadFile(s)
	if err == nil && !utf8.Valid(b) {
		err = fmt.Errorf("it is not UTF-8 text")
	}
	if err != nil {
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "read the system prompt %s: %w", terminal.Escape(s),
			err)
	}
	return string(b), nil
}

// resumed is how many times the budget is asked for when a conversation goes on: what is over the budget is there to be
// summarised, and a conversation of years does not take a hundred requests before its next turn.
const resumed = 4

// resume asks claw-mem for the conversation to continue, at most so many estimated tokens of it; 0 is as much as
// there can be.
func (o *Options) resume(ctx context.Context, s *sibling.Programs, lo *loop.Options, tokens int) error {
	which := []string{"--agent", o.Agent}
	switch {
	case o.Conversation != "":
		which = append(which, "--conversation", o.Conversation)
	case o.Latest:
		which = append(append(which, "--latest"), s.Place()...)
	default:
		return nil
	}
	found, err := load(ctx, s, tokens, which...)
	if e := envelope.From(err); e != nil && e.Code == "not_found" && o.Latest {
		return nil // there is none, or it was put away: a new one begins
	}
	if err == nil {
		lo.ConversationID, lo.Conversation = found.id, found.Conversation
	}
	return err
}

// loaded is what claw-mem has of a conversation.
type loaded struct {
	conversation.Conversation
	id string
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
	// the loop chooses, each time it sends
	args := append([]string{"context", "--limit", "0", "--max-tokens", fmt.Sprint(tokens)}, which...)
	if err := s.Query(ctx, &found, "claw-mem", args...); err != nil {
		return l, err
	}
	l.id, l.Summary, l.LeftOut = found.ConversationID, found.Summary.Content, found.LeftOut
	rest := found.Messages
	if l.Summary != "" && len(rest) > 0 {
		rest = rest[1:]
	}
	for _, t := range found.Turns {
		if t.Messages < 0 || t.Messages > len(rest) {
			return l, fmt.Errorf("claw-mem says that the turn %q has %s, and there are %d", t.TurnID,
				spelling.Count(t.Messages, "message"), len(rest))
		}
		l.Turns = append(l.Turns, conversation.Turn{ID: t.TurnID, Record: t.LastRecordID,
			Messages: rest[:t.Messages:t.Messages]})
		rest = rest[t.Messages:]
	}
	return l, nil
}
