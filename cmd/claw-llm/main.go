// Command claw-llm asks a language model: it reads request records and writes response records, each followed by one
// tool_call record for each of its tool calls. It is the only program of clawsh that sees API keys.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:        "claw-llm",
		NoWorkspace: true,
		Summary:     "ask a language model: request records in, response and tool_call records out",
		Long: `Reads request records from standard input. For each, writes one response record, then one tool_call record for each tool
call in it; if the request has "stream":true, delta records come first. Input that does not begin with { is one user
message. Other records pass through unchanged.

Keys come from the environment variables that the configuration names (api_key_env).`,
		Access:   access,
		Commands: []command.Command{filter(), list(), models(), test()},
	})
}
