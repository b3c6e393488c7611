package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/conversation"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/stage"
)

// importSummary counts records.
type importSummary struct{ memory.Counts }

func (s importSummary) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s imported, %d already known, %d failed\n", spelling.Count(s.Imported, "record"),
		s.Known, s.Failed)
	return err
}

// importer is the filter's state.
type importer struct {
	call    *command.Call
	agent   string
	summary bool
	memory.Importer
	broken error // the memory can store nothing any more
}

func importCommand() command.Command {
	var k importer
	return command.Command{Name: "import", Envelope: "memory import", Summary: "store records written by export",
		Long: `Reads records from standard input, stores conversation, user, response, tool_result, final and summary records, and writes
their session mirrors. Records that are already stored are left alone, so an import can be repeated. Records of other
kinds pass through. A line that cannot be stored becomes an error record, and the exit code is 1. The numbers are
printed to standard error, or with --summary to standard output instead of the records.`,
		Example: "claw-mem import <conversation.jsonl\nclaw-mem export | ssh desk claw-mem import --summary",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&k.agent, "agent", "", "store records that name no agent for the agent `ID`")
			f.BoolVar(&k.summary, "summary", false, "print how many were stored instead of the records")
		},
		Access: importing,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			k.summary = k.summary || c.JSON()
			err := opened(c, memory.Options{Kept: true}, func(cfg *config.Config, s *memory.Store) error {
				if k.agent == "" {
					k.agent = cfg.DefaultAgent
				}
				if _, err := cfg.AgentDir(k.agent); err != nil {
					return envelope.Errorf(envelope.ExitUsage, "usage", "--agent: %w", err)
				}
				quiet := *c
				if k.summary {
					quiet.Stdout = io.Discard
				}
				k.call, k.Importer = &quiet, memory.Importer{Store: s, Agent: k.agent}
				release, err := importUnderWay(ctx, cfg)
				if err != nil {
					return err
				}
				defer release()
				return k.run(ctx, mirrorOf(cfg))
			})
			if k.summary {
				return importSummary{k.Counts}, err
			}
			fmt.Fprintf(c.Stderr, "%s: ", c.App)
			return command.Records(), errors.Join(err, importSummary{k.Counts}.WriteText(c.Stderr))
		}}
}

// importUnderWay keeps claw-mem clear and claw-mem delete from forgetting half of what is imported.
func importUnderWay(ctx context.Context, cfg *config.Config) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, memory.Patience)
	defer cancel()
	release, err = conversation.Turns{Dir: cfg.TurnsDir()}.HoldImport(ctx)
	return release,
		memory.Busy(err,
			"nothing was imported, because claw-mem clear or delete is running; import again when it has ended")
}

func (k *importer) run(ctx context.Context, m *memory.Mirror) error {
	s := stage.Stage{Handlers: map[record.Kind]stage.Handler{}}
	for _, kind := range record.KindsWith(record.Exported) {
		s.Handlers[kind] = k.take
	}
	_, err := stage.Filter(ctx, k.call, s)
	if k.broken == nil {
		out := stage.NewWriter(k.call.Stdout)
		refused, failed := k.Flush()
		err = errors.Join(err, k.refuse(out, refused, failed), out.Flush())
	}
	if k.broken == nil {
		incomplete, failed := k.Mirror(m)
		for _, err := range incomplete {
			k.call.Log.Warn("session mirror is incomplete", "error", err.Error())
		}
		err = errors.Join(err, failed)
	}
	if err == nil && k.Counts.Failed > 0 {
		bad := envelope.Errorf(envelope.ExitError, "input.bad_lines",
			"%s could not be stored; each is reported by an error record", spelling.Count(k.Counts.Failed, "record"))
		if k.summary {
			bad.WithHint("run it again without --summary to see them; stored records are left alone")
		}
		err = bad
	}
	return err
}

// take adds a record to the batch. Its bytes are its own from then on.
func (k *importer) take(_ context.Context, line record.Line, out *stage.Writer) error {
	raw, err := k.call.Withhold(line.Bytes())
	if err == nil {
		line, err = record.Parse(raw)
	}
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "memory.failed", "withhold secrets from %s record %s: %w",
			line.Kind(), line.ID(), err)
	}
	refused, err := k.Add(line)
	return k.refuse(out, refused, err)
}

// refuse reports records that were not stored; err says that the memory can store nothing any more.
func (k *importer) refuse(out *stage.Writer, refused []memory.Refused, err error) error {
	if err != nil {
		k.broken = envelope.Errorf(envelope.ExitError, "memory.failed", "%w", err)
		return stage.Fatal(k.broken)
	}
	for _, r := range refused {
		e := envelope.Errorf(envelope.ExitError, "memory.failed", "import %s record %s: %w", r.Line.Kind(), r.Line.ID(),
			r.Err)
		if err := out.Record(stage.ErrorRecord(k.call.App, r.Line, e)); err != nil {
			return err
		}
	}
	return nil
}
