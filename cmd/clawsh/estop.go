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
	"clawsh/lib/durable"
	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

type estopResult struct {
	Engaged bool   `json:"engaged"`
	Path    string `json:"path"`
}

func (e estopResult) WriteText(w io.Writer) error {
	text := "emergency stop is off: tools may run again\n"
	if e.Engaged {
		text = "emergency stop is on: no tool may run, running ones are ended (clawsh estop --clear ends it)\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func estop() command.Command {
	clear := false
	return command.Command{Name: "estop", Access: stopping, Summary: "emergency stop: end running tools and let none start",
		Long:    "Creates the file ESTOP in clawsh's home. While it exists, or cannot be examined, no tool runs in any process.",
		Example: "clawsh estop\nclawsh estop --clear",
		Flags:   func(f *pflag.FlagSet) { f.BoolVar(&clear, "clear", false, "end the emergency stop") },
		Run: func(_ context.Context, c *command.Call) (command.Result, error) {
			p, err := c.Paths()
			if err != nil {
				return nil, err
			}
			path := p.Home + "/ESTOP"
			if clear {
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, fmt.Errorf("end the emergency stop: %w", err)
				}
				return estopResult{false, path}, nil
			}
			if _, err := os.Stat(p.Home); errors.Is(err, fs.ErrNotExist) {
				return nil, envelope.Errorf(envelope.ExitConfig, "not_initialised", "emergency stop: there is no clawsh home %s", p.Home).
					WithHint("set CLAWSH_HOME to the home whose tools you mean")
			}
			if err := durable.Replace(path, []byte(record.Now()+"\n"), 0o600); err != nil {
				return nil, fmt.Errorf("emergency stop: %w", err)
			}
			c.Event(command.EventEstopTriggered, "path", path)
			return estopResult{true, path}, nil
		}}
}
