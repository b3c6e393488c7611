package manual

// What no table has: the words of the pages, in Markdown.
const (
	configurationText = "`~/.clawsh/config.toml`, or the file that `$CLAWSH_CONFIG` or `--config FILE` names. `clawsh init` writes one with every key\n" +
		"explained. Every key is optional. Unknown keys are errors; `clawsh config validate` reports all errors in one pass, with line and\n" +
		"column, and `clawsh config` prints the configuration in force. Paths may start with `~/` or a variable. Secrets never stand in the file:\n" +
		"`api_key_env` and `headers_env` name environment variables.\n\n" +
		"## Environment\n\n| variable | |\n|---|---|\n" + environment +
		"\n## Keys\n\nThe default holds where the file does not name the key; `clawsh init` writes all of them, but `max_tool_rounds = 25`.\n"

	environment = "| `CLAWSH_HOME` | the home directory, `~/.clawsh` by default |\n" +
		"| `CLAWSH_CONFIG` | the configuration file; `--config` beats it |\n" +
		"| `CLAWSH_WORKSPACE` | the workspace; `-C` beats it |\n" +
		"| `CLAWSH_MODEL` | the model, in place of the configured one; `--model` beats it |\n" +
		"| `CLAWSH_DEFAULT_AGENT` | the agent, in place of `default_agent`; `--agent` beats it |\n" +
		"| `CLAWSH_LLM_BACKEND` | `stub` answers from the built-in mock model, whatever is configured |\n" +
		"| `CLAWSH_LOG` | `json` writes log lines as JSON, `text` (the default) as text |\n" +
		"| `CLAWSH_LOG_LEVEL` | `debug`, `info`, `warn` or `error`; `warn` by default, `info` with `CLAWSH_LOG=json` |\n" +
		"| `CLAWSH_TRACE` | a directory in which each stage keeps a copy of what it reads |\n"

	files = "~/.clawsh/config.toml\n: the configuration: see clawsh-config(5)\n\n" +
		"~/.clawsh/rules.toml\n: rules that were written at a question\n\n" +
		"~/.clawsh/agents/ID/soul.md\n: the system prompt of an agent\n\n" +
		"~/.clawsh/agents/ID/sessions/\n: copies of conversations, as JSON lines\n\n" +
		"~/.clawsh/memory.sqlite\n: conversations\n\n" +
		"~/.clawsh/tool_receipts.log\n: the receipts: see clawsh-receipts(5)\n\n" +
		"~/.clawsh/audit.jsonl\n: the decisions of claw-gate\n\n" +
		"~/.clawsh/keys/\n: keys, readable for their owner alone\n\n" +
		"~/.clawsh/ESTOP\n: the emergency stop: while it exists, no tool runs\n\n" +
		"~/clawsh-workspace/\n: the workspace, unless another directory is chosen\n\n"
)
