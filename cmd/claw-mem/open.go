package main

import (
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/memory"
)

// reading opens the memory for a command that only reads, and calls use with it.
func reading(c *command.Call, use func(cfg *config.Config, s *memory.Store) error) error {
	return opened(c, memory.Options{ReadOnly: true}, use)
}

func opened(c *command.Call, o memory.Options, use func(cfg *config.Config, s *memory.Store) error) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	s, err := memory.Open(cfg.Memory.Path, o)
	if err != nil {
		return envelope.Errorf(envelope.ExitError, "memory.unavailable", "%w", err)
	}
	defer s.Close()
	return use(cfg, s)
}
