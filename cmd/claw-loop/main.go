// Command claw-loop is the agent loop: it reads user records and writes, for each, what the turn produces, ending in
// one final record.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:    "claw-loop",
		Summary: "run the agent loop: user records in; deltas, tool calls, tool results and one final record per turn out",
		Long: `Reads user records from standard input and runs one turn for each: it asks claw-llm, sends tool calls through
claw-gate, claw-exec and claw-receipt, returns the results to the model, and stores everything with claw-mem. Input that
does not begin with { is one user message. Other records pass through unchanged.

SIGINT ends the running turn and keeps what was done; a second SIGINT exits at once. SIGTERM and SIGHUP end the turn,
then claw-loop.`,
		Access:   access,
		Commands: []command.Command{filter(), compact()},
	})
}
