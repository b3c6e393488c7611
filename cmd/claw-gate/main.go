// Command claw-gate decides which tool calls may run: it reads tool_call records and adds a verdict to each. It alone can
// sign the permits without which claw-exec runs nothing.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:    "claw-gate",
		Summary: "decide which tool calls may run: tool_call records in, the same with a verdict out",
		Long: `Reads tool_call records on standard input, classifies each by the security policy, asks on the terminal where
approval is needed, and writes the same record with a verdict. What it allows is first synced to audit.jsonl, then
signed: the permit in the verdict binds these exact arguments, for 60 seconds, for one use. No terminal, no answer
or any failure means denied. Other records pass through unchanged.`,
		Access:   access,
		Commands: []command.Command{filter(), policyCommand(), rulesCommand(), removeCommand(), check(), audit(), keys()},
	})
}
