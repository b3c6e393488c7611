package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
	"clawsh/lib/terminal"
)

type estopResult struct {
	Engaged bool   `json:"engaged"`
	Path    string `json:"path"`
}

func (e estopResult) WriteText(w io.Writer) error {
	text := "emergency stop is off: tools can run again\n"
	if e.Engaged {
		text = "emergency stop is on: running tools are ended and no tool can start (to end it: clawsh estop --clear)\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func estop() command.Command {
	clear, yes := false, false
	return command.Command{Name: "estop", Access: stopping,
		Summary: "switch the emergency stop on: end running tools and let none start",
		Long: `Creates the file ESTOP in clawsh's home. While it exists, or cannot be examined, no tool runs in any process. --clear
asks for confirmation on the terminal and removes it; without a terminal, --clear needs --yes. Both are logged in
estop.jsonl.`,
		Example: "clawsh estop\nclawsh estop --clear",
		Flags: func(f *pflag.FlagSet) {
			f.BoolVar(&clear, "clear", false, "switch the emergency stop off")
			f.BoolVarP(&yes, "yes", "y", false, "with --clear: do not ask")
		},
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			path := p.Home + "/ESTOP"
			if clear {
				if err := clearEstop(ctx, p.Home, path, yes); err != nil {
					return nil, err
				}
				return estopResult{false, path}, nil
			}
			if _, err := os.Stat(p.Home); errors.Is(err, fs.ErrNotExist) {
				return nil, envelope.Errorf(envelope.ExitConfig, "not_initialised",
					"emergency stop: there is no clawsh home %s", p.Home).
					WithHint("set CLAWSH_HOME to the home whose tools you want to stop")
			}
			if err := durable.Replace(path, []byte(record.Now()+"\n"), 0o600); err != nil {
				return nil, fmt.Errorf("emergency stop: %w", err)
			}
			c.Event(command.EventEstopTriggered, "path", path)
			if err := noteEstop(p.Home, true, "command"); err != nil { // it is on nevertheless
				c.Log.Warn("emergency stop not logged", "event", "estop_not_noted", "error", err.Error())
			}
			return estopResult{true, path}, nil
		}}
}

// estopNote is a line of estop.jsonl.
type estopNote struct {
	V       int         `json:"v"`
	Kind    record.Kind `json:"kind"`
	TS      string      `json:"ts"`
	Engaged bool        `json:"engaged"`
	By      string      `json:"by"` // command, terminal: a person who was asked, or flag: --yes
}

func noteEstop(home string, engaged bool, by string) error {
	log, err := durable.OpenLog(config.EstopLogPath(home), 0o600)
	if err != nil {
		return err
	}
	line, err := record.Encode(estopNote{record.Version, "estop", record.Now(), engaged, by})
	if err == nil {
		err = log.Append(line, true)
	}
	return errors.Join(err, log.Close())
}

// clearEstop ends the emergency stop, once somebody has said so and it is noted: without a trace it stays.
func clearEstop(ctx context.Context, home, path string, yes bool) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	by := "flag"
	if !yes {
		by = "terminal"
		said, err := terminal.Confirm(ctx, "End the emergency stop and let tools run again? [y/N] ")
		if errors.Is(err, terminal.ErrNoTerminal) {
			return envelope.Errorf(envelope.ExitDenied, "denied",
				"the emergency stop stays on: there is no terminal to ask on").
				WithHint("to end it without a question: clawsh estop --clear --yes")
		}
		if err != nil {
			return fmt.Errorf("end the emergency stop: %w", err)
		}
		if !said {
			return envelope.Errorf(envelope.ExitError, "denied", "the emergency stop stays on: you did not say yes")
		}
	}
	if err := noteEstop(home, false, by); err != nil {
		return fmt.Errorf("the emergency stop stays on, because its end could not be logged: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the emergency stop: %w", err)
	}
	return nil
}
