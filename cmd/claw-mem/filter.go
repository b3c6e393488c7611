package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
	"clawsh/lib/record"
	"clawsh/lib/stage"
)

// keeper is the filter's state.
type keeper struct {
	call   *command.Call
	config *config.Config
	agent  string
	place  memory.Place
	store  *memory.Store
	mirror *memory.Mirror
}

func filter() command.Command {
	var k keeper
	return command.Command{
		Filter:  true,
		Summary: "store records",
		Example: `claw-llm <requests.jsonl | claw-gate | claw-exec | claw-receipt | claw-mem`,
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&k.agent, "agent", "", "store records for the agent `ID`")
			placeFlags(f, &k.place)
		},
		Access: k.access,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			if err := k.prepare(c, cfg); err != nil {
				return nil, err
			}
			defer k.close()
			handlers := map[record.Kind]stage.Handler{}
			for _, kind := range record.KindsWith(record.Stored) {
				handlers[kind] = k.handle
			}
			return stage.Filter(ctx, c, stage.Stage{Drain: true, Handlers: handlers})
		},
	}
}

// name is the agent's id, the configuration's if the flag is missing.
func (k *keeper) name(cfg *config.Config) string {
	if k.agent == "" {
		return cfg.DefaultAgent
	}
	return k.agent
}

func (k *keeper) prepare(c *command.Call, cfg *config.Config) error {
	k.call, k.config = c, cfg
	k.agent = k.name(cfg)
	if _, err := cfg.AgentDir(k.agent); err != nil {
		return envelope.Errorf(envelope.ExitUsage, "usage", "--agent: %w", err)
	}
	return nil
}

// open opens the memory when there is something to store, which takes longer than the rest of a start.
func (k *keeper) open() error {
	if k.store != nil {
		return nil
	}
	var err error
	if k.store, err = memory.Open(k.config.Memory.Path, memory.Options{Kept: true}); err != nil {
		return stage.Fatal(envelope.Errorf(envelope.ExitError, "memory.unavailable", "%w", err))
	}
	k.mirror = &memory.Mirror{Dir: filepath.Join(k.config.Home, "agents"), Store: k.store}
	return nil
}

func (k *keeper) close() {
	if k.store != nil {
		k.store.Close()
	}
}

// handle stores one record without secrets and passes it on as it is. The mirror is a convenience: when it fails, that
// is logged and no more.
func (k *keeper) handle(_ context.Context, line record.Line, out *stage.Writer) error {
	if err := k.open(); err != nil {
		return err
	}
	stored, err := k.withheld(line)
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "memory.failed", "withhold secrets from %s record %s: %w",
			line.Kind(), line.ID(), err)
	}
	entry, isNew, err := k.store.Keep(stored, k.agent, k.place)
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "memory.failed", "store %s record %s: %w", line.Kind(), line.ID(),
			err)
	}
	k.call.Event(command.EventMemoryPersisted, "kind", string(line.Kind()), "id", line.ID())
	if isNew { // what comes again is mirrored already
		if err := k.mirror.Put(&entry, k.agent); err != nil {
			k.call.Log.Warn("session mirror is incomplete", "error", err.Error())
		}
	}
	return out.Write(line.Bytes())
}

// withheld is the record as it is stored. Its strings are looked at as a reader of the database will see them, without
// escapes.
func (k *keeper) withheld(line record.Line) (record.Line, error) {
	raw, err := k.call.Withhold(line.Bytes())
	if err != nil {
		return record.Line{}, err
	}
	return record.Parse(raw)
}
