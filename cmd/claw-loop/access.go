package main

import (
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
)

// access is the loop's row: it starts the stages, which inherit what it gives up. So it gives up only what none of them
// has a use for.
func access(*command.Call, *config.Config) confine.Access { return confine.Access{Stages: true} }
