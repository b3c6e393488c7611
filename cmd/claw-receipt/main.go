// Command claw-receipt writes receipts: it reads tool_result records and adds the id of a receipt to each, after the
// receipt is in the hash chain on disk.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:        "claw-receipt",
		NoWorkspace: true,
		Summary:     "write tamper-evident receipts: tool_result records in, the same with a receipt_id out",
		Long: `Reads tool_result records on standard input and appends a receipt for each to the receipt log, a hash chain; once
it is synced to disk the record is written out with its receipt_id. Other records pass through unchanged.`,
		Access: access,
		Commands: []command.Command{acceptCommand(), filter(), verify(), list(), show(), keys(), checkpoint(), prove(),
			checkProof(), recoverCommand(), setAside()},
	})
}
