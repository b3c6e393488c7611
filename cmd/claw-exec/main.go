// Command claw-exec runs tool calls that claw-gate has permitted: it reads gated tool_call records and writes
// tool_result records. Its one secret is the key with which it seals them.
package main

import (
	"os"

	"clawsh/lib/broker"
	"clawsh/lib/command"
	"clawsh/lib/sandbox"
)

func main() {
	sandbox.Enter(os.Args)
	if mine, err := broker.Interpret(os.Args); mine {
		command.End("interpreter", err)
	}
	command.Main(command.App{
		Name:    "claw-exec",
		Summary: "run permitted tool calls: gated tool_call records in, tool_result records out",
		Long: `Reads tool_call records with the verdict of claw-gate, and writes each back as a tool_result. A call runs only with a
valid, unexpired and unused permit for exactly its arguments. A denied call becomes a result with status denied,
without any tool being touched. Other records pass through unchanged.`,
		Commands: []command.Command{filter(), list(), show(), keys(), accept(), preflightCommand(), confineCommand(),
			serve(), fetch()},
	})
}
