// Command clawsh is the agent for people and scripts: it starts the stages and shows what they say.
package main

import (
	"slices"

	"clawsh/lib/command"
)

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
	own := []command.Command{
		ask(), agent(), initialise(), connect(), configShow("config"), configValidate(), configShow("config show"),
		examine(),
		estop(), completing(toolRun(), tools), workspaceList(), workspaceTrust(), workspaceForget(),
	}
	return slices.Concat(own, ofStage("claw-llm"), ofStage("claw-exec"), ofStage("claw-mem"),
		[]command.Command{sessionShow("session"), sessionShow("session show"), reset("session reset"), reset("reset")},
		ofStage("claw-loop"), ofStage("claw-receipt"), []command.Command{policyCommand()}, ofStage("claw-gate"))
}
