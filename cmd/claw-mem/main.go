// Command claw-mem remembers: it reads user, response, tool_result and final records and passes each on once it is
// durable in the memory database. It also searches and shows what it has stored.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:        "claw-mem",
		NoWorkspace: true,
		Summary:     "store and search conversations: records in, the same records out once they are durable",
		Long: `Reads records on standard input. user, response, tool_result and final records are stored in the memory database
and mirrored to agents/ID/sessions, and passed on once they are durable; other records pass through unchanged.`,
		Access: looking,
		Values: map[string]command.Complete{"conversation": conversations},
		Commands: []command.Command{filter(), initialise(), list(), search(), show(), archive(), deleteCommand(),
			clearAll(), contextCommand(),
			usage(), check(), export(), importCommand(), backup()},
	})
}
