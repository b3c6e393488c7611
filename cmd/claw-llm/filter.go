package main

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/provider"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

// chat is the filter's state: the providers that were used so far.
type chat struct {
	call      *command.Call
	config    *config.Config
	name      string
	model     string
	providers map[string]provider.Provider
}

func filter() command.Command {
	s := chat{providers: map[string]provider.Provider{}}
	return command.Command{
		Filter:  true,
		Summary: "answer request records",
		Example: `echo 'What is a pipe?' | claw-llm | jq -r 'select(.kind=="response").final_text'`,
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&s.name, "provider", "", "ask the provider `NAME` unless a request names one")
			f.StringVar(&s.model, "model", "", "use the model `NAME` unless a request names one")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			s.call, s.config = c, cfg
			return stage.Filter(ctx, c, stage.Stage{Text: s.textRequest,
				Handlers: map[record.Kind]stage.Handler{record.KindRequest: s.handle}})
		},
	}
}

// textRequest makes a request of a message that was piped as text.
func (s *chat) textRequest(text string) ([]byte, error) {
	return record.Encode(record.Request{V: record.Version, Kind: record.KindRequest, ID: record.NewID("req-"),
		TS:             record.Now(),
		ConversationID: record.NewID("conv-"), TurnID: record.NewID("turn-"),
		Messages: []record.Message{{Role: "user", Content: strings.TrimRight(text, "\n")}}})
}

// provider returns the provider of that name, made on first use.
func (s *chat) provider(name string) (provider.Provider, error) {
	if name == "" {
		name = s.name
	}
	if name == "" {
		name = s.config.DefaultProvider
	}
	if p, ok := s.providers[name]; ok {
		return p, nil
	}
	p, err := provider.New(s.config, name,
		provider.Options{Getenv: s.call.Getenv, Log: s.call.Log, Secrets: s.call.Secrets})
	if err != nil {
		return nil, err
	}
	s.call.Event(command.EventProviderSelected, "provider", name, "kind", p.Kind())
	s.providers[name] = p
	return p, nil
}

// handle answers one request.
func (s *chat) handle(ctx context.Context, line record.Line, out *stage.Writer) error {
	var req record.Request
	if err := record.DecodeOpen(line.Bytes(), &req); err != nil {
		return envelope.Errorf(0, "request.invalid", "read request %s: %w", line.ID(), err)
	}
	if req.Model == "" {
		req.Model = s.model
	}
	p, err := s.provider(req.Provider)
	if err != nil {
		return explain(err)
	}
	pass, rest := s.deltas(&req, out)
	resp, err := p.Chat(ctx, &req, pass)
	if err != nil {
		return explain(err)
	}
	if err := rest(); err != nil {
		return err
	}
	repaired := provider.RepairCalls(&req, resp, s.call.Secrets)
	s.withhold(resp)
	resp.V, resp.Kind, resp.ID, resp.RequestID = record.Version, record.KindResponse, record.NewID("resp-"), req.ID
	resp.ConversationID, resp.TurnID, resp.TS = req.ConversationID, req.TurnID, record.Now()
	if resp.ToolCalls == nil {
		resp.ToolCalls = []record.CallPart{}
	}
	return write(&req, resp, repaired, out)
}

// withhold takes secrets out of what the model said. Arguments of calls stay: what runs, and what a person approves,
// are the bytes that the model wrote; only the values that are known never leave package provider in them.
func (s *chat) withhold(resp *record.Response) {
	resp.FinalText, resp.Reasoning = s.call.Secrets.Text(resp.FinalText), s.call.Secrets.Text(resp.Reasoning)
	if o := resp.Original; o != nil {
		if raw, err := s.call.Withhold(o.Message); err == nil {
			o.Message = raw
		} else {
			resp.Original = nil
		}
	}
	if raw, err := s.call.Withhold(resp.RawProviderPayload); err != nil || !bytes.Equal(raw, resp.RawProviderPayload) {
		resp.RawProviderPayload = nil
	}
}

// deltas returns the function that streams text without secrets, nil if the request does not ask for it, and the one
// that passes on what was held back.
func (s *chat) deltas(req *record.Request, out *stage.Writer) (pass func(string) error, rest func() error) {
	if !req.Stream {
		return nil, func() error { return nil }
	}
	clean := s.call.Secrets.NewStream()
	write := func(text string) error {
		if text == "" {
			return nil
		}
		err := out.Record(record.Delta{V: record.Version, Kind: record.KindDelta, RequestID: req.ID,
			ConversationID: req.ConversationID, TurnID: req.TurnID, Text: text})
		if err != nil {
			return err
		}
		return out.Flush()
	}
	return func(text string) error { return write(clean.Next(text)) }, func() error { return write(clean.Rest()) }
}

// write writes the response and its tool calls.
func write(req *record.Request, resp *record.Response, repaired []string, out *stage.Writer) error {
	if err := out.Record(resp); err != nil {
		return err
	}
	for i, c := range resp.ToolCalls {
		err := out.Record(record.ToolCall{V: record.Version, Kind: record.KindToolCall, ID: c.ID, RequestID: req.ID,
			ConversationID: req.ConversationID, TurnID: req.TurnID, TS: record.Now(), Tool: c.Name, Args: c.Args,
			Repaired: repaired[i]})
		if err != nil {
			return err
		}
	}
	return nil
}

// failure is a provider's error as the stage reports it.
type failure struct {
	cause     *envelope.Error
	retryable bool
}

// Error returns the message.
func (f failure) Error() string { return f.cause.Error() }

// Temporary tells whether the same request may succeed later.
func (f failure) Temporary() bool { return f.retryable }

// Unwrap makes the envelope error visible to errors.As.
func (f failure) Unwrap() error { return f.cause }

func explain(err error) error {
	var p *provider.Error
	if !errors.As(err, &p) {
		return err
	}
	code := "provider." + p.Code
	e := envelope.Errorf(envelope.ProviderExit(code), code, "%w", err)
	e.Hint = p.Hint
	return failure{e, p.Retryable}
}
