package main

import (
	"github.com/spf13/pflag"

	"clawsh/lib/agent"
	"clawsh/lib/command"
)

func filter() command.Command {
	var o agent.Options
	return command.Command{
		OwnSignals: true,
		Filter:     true,
		Summary:    "run one turn for each user record",
		Example:    `echo 'What files are here?' | claw-loop | jq -r 'select(.kind=="final").content'`,
		Flags: func(f *pflag.FlagSet) {
			o.Flags(f)
			f.IntVar(&o.Control, "control", 0, "take commands of the parent process from the file descriptor `FD`")
			f.Lookup("control").Hidden = true
		},
		Run: o.Run,
	}
}
