package main

import (
	"bufio"
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/record"
)

func export() command.Command {
	var o exportOptions
	return command.Command{Name: "export", Offered: []string{"session export"}, Envelope: "memory export",
		Args: "[CONVERSATION_ID]", Max: 1, Complete: conversations, Summary: "write stored conversations as records",
		Long: `Writes the stored user, response, tool_result, final and summary records, oldest first, with a conversation record
before the first one of each conversation. claw-mem import reads all of them. Provider payloads and permits are not
stored. TIME is RFC 3339, a date, or how long ago, such as 7d. --until TIME excludes TIME; --until DATE includes that
day.`,
		Example: "claw-mem export conv-019df3c2 >conversation.jsonl\nclaw-mem export --since 7d | claw-gate check --summary",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.Conversation, "conversation", "", "export only the conversation `ID`, like the argument")
			f.StringVar(&o.Since, "since", "", "export only records from `TIME` on")
			f.StringVar(&o.Until, "until", "", "export only records before `TIME`")
		},
		Access: looking,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			if len(c.Args) == 1 {
				if o.Conversation != "" {
					return nil, envelope.Errorf(envelope.ExitUsage, "usage", "name one conversation, not two")
				}
				o.Conversation = c.Args[0]
			}
			if err := span(&o.Since, &o.Until); err != nil {
				return nil, err
			}
			return c.Collect(func(c *command.Call) (command.Result, error) { return o.run(ctx, c) })
		}}
}

// exportOptions are the flags of export.
type exportOptions struct{ memory.ExportOptions }

func (o *exportOptions) run(ctx context.Context, c *command.Call) (command.Result, error) {
	w := bufio.NewWriter(c.Stdout)
	err := reading(c, func(_ *config.Config, s *memory.Store) error {
		return s.Export(o.ExportOptions, func(line []byte) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w.Write(line)
			return w.WriteByte('\n')
		})
	})
	if err == nil {
		err = w.Flush()
	}
	if errors.Is(err, syscall.EPIPE) {
		err = nil // who reads has enough
	}
	return command.Records(), err
}

// span brings the bounds of a span of time into the form in which times are stored.
func span(since, until *string) error {
	from, to, err := record.Span(*since, *until, time.Now())
	if err != nil {
		return envelope.Errorf(envelope.ExitUsage, "usage", "%w", err)
	}
	*since, *until = from, to
	return nil
}
