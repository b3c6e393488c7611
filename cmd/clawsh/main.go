// Command clawsh is the agent for people and scripts: it starts the stages and shows what they say.
package main

import "clawsh/lib/command"

func main() {
	command.Main(command.App{
		Name:    "clawsh",
		Summary: "a local-first LLM agent made of small Unix filters",
		Long: `  clawsh "message"            answer one message
  clawsh -c "message"         continue the last conversation here
  cat log | clawsh -m "..."   with what was piped
  clawsh agent                a conversation on the terminal

Tool calls of the model pass a security gate and leave tamper-evident receipts. Start with: clawsh init`,
		Access:   access,
		Commands: commands(),
	})
}

func commands() []command.Command {
	return []command.Command{
		ask(), agent(), initialise(), onboard(), configShow("config"), configValidate(), configShow("config show"), doctor(), estop(), completing(toolRun(), tools),
		workspaceList(), workspaceTrust(), workspaceForget(),
		handOver("provider list", "claw-llm", "list", "", "list the configured providers"),
		handOver("provider models", "claw-llm", "models", "[NAME]", "list the models that a provider's server has"),
		handOver("provider test", "claw-llm", "test", "NAME", "send one short message to a provider"),
		handOver("tool list", "claw-exec", "list", "", "list the tools"),
		handOver("tool show", "claw-exec", "show", "NAME", "show a tool and its parameters"),
		handOver("memory list", "claw-mem", "list", "", "list conversations"),
		handOver("memory search", "claw-mem", "search", "QUERY", "search what was said"),
		handOver("memory show", "claw-mem", "show", "[ID]", "show a conversation, or one record of it"),
		handOver("memory clear", "claw-mem", "clear", "--yes", "forget all conversations"),
		handOver("memory check", "claw-mem", "check", "", "check the memory for damage"),
		handOver("memory backup", "claw-mem", "backup", "FILE", "copy the memory to a file, while it is in use"),
		ofMemory("session list", "list", "", "list conversations"),
		sessionShow("session"), sessionShow("session show"),
		ofMemory("session export", "export", "[CONVERSATION_ID]", "write conversations as records"),
		ofMemory("session delete", "delete", "CONVERSATION_ID... --yes", "forget conversations for good"),
		reset("session reset"), reset("reset"),
		ofMemory("usage", "usage", "", "show how many tokens were used, and what they cost"),
		handOver("session compact", "claw-loop", "compact", "", "have a model write a summary of a conversation's old turns"),
		handOver("receipt list", "claw-receipt", "list", "", "list receipts"),
		receiptShow(),
		handOver("receipt verify", "claw-receipt", "verify", "", "verify the receipts: chain, macs, head, checkpoint"),
		handOver("receipt recover", "claw-receipt", "recover", "", "write the receipts of interrupted calls"),
		handOver("receipt checkpoint", "claw-receipt", "checkpoint", "", "sign what the receipts are now, to be kept elsewhere"),
		handOver("receipt prove", "claw-receipt", "prove", "ID", "write a proof that a receipt is in the log"),
		handOver("receipt check-proof", "claw-receipt", "check-proof", "FILE --key KEY", "check such a proof"),
		handOver("receipt set-aside", "claw-receipt", "set-aside", "", "set a damaged receipt log aside, and begin a new one"),
		handOver("receipt keys", "claw-receipt", "keys", "", "show the public keys of the receipts, or replace the keys"),
		policyCommand(),
		handOver("policy rules", "claw-gate", "policy rules", "", "list your own rules, and where each is from"),
		handOver("policy rules remove", "claw-gate", "policy rules remove", "NAME", "remove a rule that was written at a question"),
	}
}
