// Package loop is the agent loop: user messages in, final answers out.
//
// It holds three conversations over pipes: with claw-llm; with the tool chain claw-gate | claw-exec |
// claw-receipt, which is started only when the first tool call comes; and with claw-mem, outside the chain and not
// awaited until the final record. A turn is
//
//	user → request → response → (tool calls → results → request → response)* → final
//
// and it ends after at most MaxToolRounds rounds of tools. A conversation that has become too long is compacted before
// a turn: the model writes a summary of the old turns, which is sent in their place. tool_call lines go to the chain as
// the same bytes that claw-llm wrote. A stage that dies in the middle of a turn ends that turn with an error that names
// it; it is started anew for the next one.
package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"clawsh/lib/conversation"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// Options configure a Loop. All but Starter and Emit may be zero.
type Options struct {
	// Agent is the agent's id; SystemPrompt its identity.
	Agent, SystemPrompt string
	// Facts tells the model where it works; it follows the system prompt.
	Facts func(now time.Time) string
	// Project reads what follows about the project, again for each turn.
	Project func() (Project, error)
	// Provider and Model override the configured ones.
	Provider, Model string
	// Temperature is passed to the provider if set.
	Temperature *float64
	// Stream asks for the answer in pieces.
	Stream bool
	// MaxToolRounds bounds the rounds of tool calls of a turn.
	MaxToolRounds int
	// Timeout limits a turn; zero means no limit.
	Timeout time.Duration
	// MaxTokens and MaxCost limit what a turn uses, summaries included: once reached, no further request is sent. Zero
	// means no limit. Price returns the cost of a model's usage.
	MaxTokens int64
	MaxCost   float64
	Price     func(provider, model string, u record.Usage) (cost float64, known bool)
	// Tools are the tools offered to the model.
	Tools []record.Tool
	// ConversationID and Conversation resume one.
	ConversationID string
	Conversation   conversation.Conversation
	// Reload returns the stored conversation. It is called before old turns are summarised: other processes may have
	// continued the conversation, and a summary must not replace turns that it does not cover. Nil means that there are
	// no other processes.
	Reload func(ctx context.Context, conversationID string) (conversation.Conversation, error)
	// Turns is the directory of the locks that give a conversation one turn at a time across processes; empty means
	// that there are no other processes. Waiting is called when the turn waits for another process's turn.
	Turns   string
	Waiting func(conversationID string, pid int, since string)
	// Stored returns a value that changes with the memory; Seen is its value before Conversation was read.
	Stored func() string
	Seen   string
	// Events makes Emit get the user and response records, too.
	Events bool
	// Ephemeral keeps nothing of the conversation: claw-mem is not started.
	Ephemeral bool
	// Shown, if set, waits until people have seen a tool call, before a question about it is asked.
	Shown func(ctx context.Context, callID string) error
	// Check returns why no tool may run any more: the configuration has changed during the turn and cannot be read.
	Check func() error
	// Budget bounds what is sent of the conversation.
	Budget conversation.Budget
	// CompactAt is the size in estimated tokens at which old turns are summarised before a turn; zero means never.
	CompactAt int
	// Starter starts the stages.
	Starter Starter
	// Emit gets every record that the turn produces: deltas, tool calls, tool results and the final.
	Emit func(line []byte) error
	// Event gets events for the log.
	Event func(event string, attrs ...any)
	// Warn gets, for the log, failures that do not end the turn.
	Warn func(event string, attrs ...any)
}

// Starter returns the command of each stage.
type Starter interface {
	LLM() (process.Spec, error)
	Tools() ([]process.Spec, error)
	Memory(agent string) (process.Spec, error)
}

// Loop is one conversation. It is not safe for concurrent use.
type Loop struct {
	Options
	mu         sync.Mutex // guards the three conversations against Kill
	llm, chain *peer
	mem        *store
	history    conversation.Conversation // the running turn is its last
	started    bool
}

// New returns a Loop. It starts nothing before the first turn or Warm.
func New(o Options) *Loop {
	l := &Loop{Options: o, history: o.Conversation, started: o.ConversationID != ""}
	if l.ConversationID == "" {
		l.ConversationID = record.NewID("conv-")
	}
	l.defaults()
	return l
}

func (l *Loop) defaults() {
	if l.Event == nil {
		l.Event = func(string, ...any) {}
	}
	if l.Check == nil {
		l.Check = func() error { return nil }
	}
	if l.Warn == nil {
		l.Warn = func(string, ...any) {}
	}
}

// Renew continues the conversation with other options; those that name the conversation are ignored. The stages end,
// and are restarted when they are needed. No turn may be running.
func (l *Loop) Renew(o Options) {
	l.Close()
	o.ConversationID, o.Conversation, o.Seen = l.ConversationID, l.Conversation, l.Seen
	l.Options = o
	l.defaults()
}

func (l *Loop) facts() string {
	if l.Facts == nil {
		return ""
	}
	return l.Facts(time.Now())
}

// Warm starts claw-llm and claw-mem, if they are not running, while the caller still prepares the turn.
func (l *Loop) Warm(ctx context.Context) error {
	if l.llm == nil {
		p, err := l.start(ctx, "claw-llm", func() ([]process.Spec, error) { return one(l.Starter.LLM()) })
		if err != nil {
			return err
		}
		l.set(func() { l.llm = p })
	}
	if l.mem == nil && !l.Ephemeral {
		p, err := l.start(ctx, "claw-mem", func() ([]process.Spec, error) { return one(l.Starter.Memory(l.Agent)) })
		if err != nil {
			return err
		}
		l.set(func() { l.mem = newStore(p) })
	}
	return nil
}

// startChain starts the tool chain unless it is running.
func (l *Loop) startChain(ctx context.Context) error {
	if l.chain != nil {
		return nil
	}
	p, err := l.start(ctx, "tool chain", l.Starter.Tools)
	if err == nil {
		l.set(func() { l.chain = p })
	}
	return err
}

// start starts stages that outlive the turn: cancelling it ends them by other means.
func (l *Loop) start(ctx context.Context, name string, specs func() ([]process.Spec, error)) (*peer, error) {
	s, err := specs()
	if err != nil {
		return nil, err
	}
	p, err := start(context.WithoutCancel(ctx), name, s...)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

func one(s process.Spec, err error) ([]process.Spec, error) { return []process.Spec{s}, err }

// set changes which conversations there are.
func (l *Loop) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// Close ends all stages after they have finished their work.
func (l *Loop) Close() {
	if l.mem != nil {
		l.mem.closeInput() // it takes the longest to end, so it begins while the others do
	}
	for _, p := range []*peer{l.llm, l.chain} {
		if p != nil {
			p.closeInput()
		}
	}
	for _, p := range []*peer{l.llm, l.chain} {
		if p != nil {
			p.stop()
		}
	}
	if l.mem != nil {
		l.mem.stop()
	}
	l.set(func() { l.llm, l.chain, l.mem = nil, nil, nil })
}

// Kill ends all stages at once. It may be called while a turn runs, which then ends with an error.
func (l *Loop) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range []*peer{l.llm, l.chain} {
		if p != nil {
			p.kill()
		}
	}
	if l.mem != nil {
		l.mem.kill()
	}
}
