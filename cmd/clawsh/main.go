// Command clawsh is the agent for people and scripts: it starts the stages and shows what they say.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:    "clawsh",
		Summary: "a local-first LLM agent made of small Unix filters",
		Long: `  clawsh "message"            answer one message
  clawsh -c "message"         continue the last conversation here
  cat log | clawsh -m "..."   answer about piped text
  clawsh agent                a conversation on the terminal

Every tool call of the model passes a security gate and leaves a tamper-evident receipt. Start with: clawsh init`,
		Access:   access,
		Commands: commands(),
	})
}

func commands() []command.Command {
	return []command.Command{
		ask(), agent(), initialise(), onboard(), configShow("config"), configValidate(), configShow("config show"), doctor(), estop(), completing(toolRun(), tools),
		workspaceList(), workspaceTrust(), workspaceForget(),
		handOver("provider list", "claw-llm", "list", "", "list the configured providers"),
		handOver("provider models", "claw-llm", "models", "[NAME]", "list the models of a provider"),
		handOver("provider test", "claw-llm", "test", "NAME", "send one short message to a provider and show its answer"),
		handOver("tool list", "claw-exec", "list", "", "list the tools"),
		handOver("tool show", "claw-exec", "show", "NAME", "show a tool and its parameters"),
		handOver("memory list", "claw-mem", "list", "", "list conversations, latest first"),
		handOver("memory search", "claw-mem", "search", "QUERY", "search all conversations"),
		handOver("memory show", "claw-mem", "show", "[ID]", "show a conversation (by default the latest), or one record"),
		handOver("memory clear", "claw-mem", "clear", "--yes", "delete all conversations permanently, with their mirrors and the terminal's history"),
		handOver("memory check", "claw-mem", "check", "", "check the memory for damage"),
		handOver("memory backup", "claw-mem", "backup", "FILE", "back up the memory to a file, even while it is in use"),
		ofMemory("session list", "list", "", "list conversations, latest first"),
		sessionShow("session"), sessionShow("session show"),
		ofMemory("session export", "export", "[CONVERSATION_ID]", "write stored conversations as records"),
		ofMemory("session delete", "delete", "CONVERSATION_ID... --yes", "delete conversations permanently; receipts are kept"),
		reset("session reset"), reset("reset"),
		ofMemory("usage", "usage", "", "show how many tokens were used and what they cost"),
		handOver("session compact", "claw-loop", "compact", "", "replace old turns of a conversation by a summary in what models are sent"),
		handOver("receipt list", "claw-receipt", "list", "", "list receipts, newest last"),
		receiptShow(),
		handOver("receipt verify", "claw-receipt", "verify", "", "verify the receipt log: chain, MACs, head and checkpoint"),
		handOver("receipt recover", "claw-receipt", "recover", "", "write receipts for interrupted calls"),
		handOver("receipt checkpoint", "claw-receipt", "checkpoint", "", "write a signed checkpoint of the log, to be kept elsewhere"),
		handOver("receipt prove", "claw-receipt", "prove", "ID", "write a proof that a receipt is in the log"),
		handOver("receipt check-proof", "claw-receipt", "check-proof", "FILE --key KEY", "check a proof that a receipt is in a log, or that a log extends a checkpoint"),
		handOver("receipt set-aside", "claw-receipt", "set-aside", "", "set a damaged receipt log aside, and begin a new one"),
		handOver("receipt keys", "claw-receipt", "keys", "", "show the public keys of the receipt log, or manage its keys"),
		policyCommand(),
		handOver("policy rules", "claw-gate", "policy rules", "", "list your own rules, and where each comes from"),
		handOver("policy rules remove", "claw-gate", "policy rules remove", "NAME", "remove a rule that an approval question wrote"),
	}
}
