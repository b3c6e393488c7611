// Command claw-llm asks a language model: it reads request records and writes response records, each followed by one
// tool_call record for each of its tool calls. It is the only program of clawsh that sees API keys.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:        "claw-llm",
		NoWorkspace: true,
		Summary:     "ask a language model: request records in, response and tool_call records out",
		Long: `Reads request records on standard input and writes, for each, one response record and then one tool_call
record for each tool call in it; with "stream":true in the request, delta records before that. Input that does
not start with { is taken as one user message. Other records pass through unchanged.

Keys come from the environment variables that the configuration names (api_key_env).`,
		Access:   access,
		Commands: []command.Command{filter(), list(), models(), test()},
	})
}
