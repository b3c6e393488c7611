// Command claw-gate decides which tool calls may run: it reads tool_call records and adds a verdict to each. It alone
// can sign the permits without which claw-exec runs nothing.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:    "claw-gate",
		Summary: "decide which tool calls may run: tool_call records in, the same with a verdict out",
		Long: `Reads tool_call records from standard input, judges each by the security policy, asks on the terminal if approval is
needed, and writes the record with a verdict. An allowed call is first written to audit.jsonl, then signed: the permit
in the verdict is valid for exactly these arguments, for 60 seconds and one use. Without a terminal or an answer, or
after any failure, a call is denied. Other records pass through unchanged.`,
		Access: access,
		Commands: []command.Command{filter(), policyCommand(), rulesCommand(), removeCommand(), check(), auditing(),
			keys()},
	})
}
