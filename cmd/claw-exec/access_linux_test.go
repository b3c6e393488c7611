package main

import (
	"testing"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/test/inside"
)

func TestMain(m *testing.M) {
	inside.Main(m, func(_ *command.Call, cfg *config.Config) confine.Access { return access(cfg, "") })
}

// claw-exec keeps the workspace and its own register: no key, no network, no way to start anything.
func TestInside(t *testing.T) {
	inside.Check(t, "read the configuration", "read the workspace", "list the workspace", "write the workspace",
		"make a file in the workspace", "use up permits", "write what is under way", "read the public key")
}
