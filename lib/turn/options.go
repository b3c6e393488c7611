// Package turn is what a person says about a turn beside the message: the flags that clawsh and claw-loop share. A flag
// is one row of the table here, and one field: it is declared, explained, checked and handed on from there.
package turn

import (
	"fmt"
	"reflect"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
)

// Options are the flags of a turn.
type Options struct {
	Agent, Conversation, System, Provider, Model string
	// Latest continues the latest conversation of this terminal or directory.
	Latest bool
	// Stream has the answer written while it arrives, Events each record of the turn.
	Stream, Events             bool
	NoTools, NoProject, NoSave bool

	maxRounds int
	maxTokens int64
	maxCost   float64
	timeout   Seconds
}

// row is one flag: the field that it is stored in, and its help.
type row struct {
	name, short string
	field       any
	help        string
}

func (o *Options) rows() []row {
	return []row{
		{"system", "s", &o.System, "use `PROMPT|FILE` as system prompt"},
		{"provider", "", &o.Provider, "ask the provider `NAME`"},
		{"model", "", &o.Model, "use the model `NAME`"},
		{"agent", "", &o.Agent, "run the agent `ID` (agents/ID/soul.md)"},
		{"continue", "c", &o.Latest, "continue the latest conversation of this terminal or directory"},
		{"conversation", "", &o.Conversation, "continue the conversation `ID`"},
		{"max-tool-rounds", "", &o.maxRounds, "end the turn after `N` rounds of tool calls (0: offer no tools)"},
		{"max-tokens", "", &o.maxTokens, "end the turn once it has used `N` tokens (0: no limit)"},
		{"max-cost", "", &o.maxCost,
			"end the turn once it has cost `AMOUNT`, in the currency of the prices (0: no limit)"},
		{"timeout", "", &o.timeout, "end the turn after `DURATION`, such as 90s or 5m"},
		{"events", "", &o.Events, "write every record of the turn to standard output, as JSON lines"},
		{"no-save", "", &o.NoSave, "do not store the conversation; receipts and audit lines are still written"},
		{"stream", "", &o.Stream, "write the answer while it arrives (for clawsh, the default on a terminal)"},
		{"no-tools", "", &o.NoTools, "offer no tools to the model"},
		{"no-project-file", "", &o.NoProject, "do not send the project file, such as AGENTS.md, to the model"},
	}
}

// Flags declares the flags.
func (o *Options) Flags(f *pflag.FlagSet) {
	for _, r := range o.rows() {
		switch field := r.field.(type) {
		case *string:
			f.StringVarP(field, r.name, r.short, "", r.help)
		case *bool:
			f.BoolVarP(field, r.name, r.short, false, r.help)
		case *int:
			f.IntVarP(field, r.name, r.short, 0, r.help)
		case *int64:
			f.Int64VarP(field, r.name, r.short, 0, r.help)
		case *float64:
			f.Float64VarP(field, r.name, r.short, 0, r.help)
		case pflag.Value:
			f.VarP(field, r.name, r.short, r.help)
		}
	}
}

// Args are the flags that say the same to another program: those that were given, and those whose fields have been set
// since.
func (o *Options) Args(given func(flag string) bool) (args []string) {
	for _, r := range o.rows() {
		if value := reflect.ValueOf(r.field).Elem(); given(r.name) || !value.IsZero() {
			args = append(args, fmt.Sprintf("--%s=%v", r.name, value))
		}
	}
	return args
}

// Check refuses what cannot be meant.
func (o *Options) Check(given func(flag string) bool) error {
	switch {
	case given("conversation") && o.Conversation == "":
		return envelope.Errorf(envelope.ExitUsage, "usage", "--conversation is empty").
			WithHint("clawsh memory list shows the ids")
	case o.Latest && o.Conversation != "":
		return envelope.Errorf(envelope.ExitUsage, "usage", "-c and --conversation cannot be combined")
	case o.NoSave && (o.Latest || o.Conversation != ""):
		return envelope.Errorf(envelope.ExitUsage, "usage", "--no-save cannot continue a conversation")
	case o.maxRounds < 0 || o.timeout < 0 || o.maxTokens < 0 || !(o.maxCost >= 0):
		return envelope.Errorf(envelope.ExitUsage, "usage",
			"--max-tool-rounds, --max-tokens, --max-cost and --timeout must not be negative")
	}
	return nil
}

// Limits end a turn.
type Limits struct {
	Rounds int
	Tokens int64
	Cost   float64
	Time   time.Duration
}

// Limits are those of the configuration, or of the flags that were given. A cost limit is refused where a price is not
// known, before anything is spent.
func (o *Options) Limits(cfg *config.Config, given func(flag string) bool) (Limits, error) {
	l := Limits{cfg.Limits.MaxToolRounds, int64(cfg.Limits.MaxTokens), cfg.Limits.MaxCost,
		time.Duration(cfg.Limits.TurnTimeoutS * float64(time.Second))}
	if given("max-tool-rounds") {
		l.Rounds = o.maxRounds
	}
	if given("max-tokens") {
		l.Tokens = o.maxTokens
	}
	if given("max-cost") {
		l.Cost = o.maxCost
	}
	if given("timeout") {
		l.Time = time.Duration(o.timeout)
	}
	if l.Cost <= 0 {
		return l, nil
	}
	return l, cfg.CheckPrices(cfg.Model(o.Agent, o.Provider, o.Model))
}
