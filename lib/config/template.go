package config

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Template is the configuration that init writes: the defaults, explained.
func Template() []byte {
	d := defaults()
	return fmt.Appendf(nil, `# clawsh's configuration. Every key is optional; these are the defaults. Paths may start with ~/ or a variable.
# Check it with: clawsh config validate     See what is in force with: clawsh config show

workspace = "fixed"                      # fixed: workspace_dir; here: the directory in which clawsh is started, or its repository's
                                         # root, once you have said that the agent may work there. -C DIR beats both.
workspace_dir = "~/clawsh-workspace"     # where tools read, write and run
default_provider = "local"               # one of [providers.models]
default_model = "mock"                   # for a provider that names none
default_agent = "default"                # its system prompt: agents/default/soul.md

[security]
autonomy = "supervised"                  # readonly: only looks; supervised: asks before it changes anything; full: does not ask
harmless = "ask"                         # low: allowed commands that only read in the workspace (ls, cat, grep, git status) run without asking
high = "deny"                            # ask: at supervised, a command that is not understood or not allowed is a question, not a denial
workspace_only = true                    # paths outside the workspace are blocked
# Paths that are blocked at every level, approved or not. clawsh's own home is always among them.
forbidden_paths = %s
# Programs that are blocked at every level, approved or not.
forbidden_commands = %s
# Directories outside the workspace that tools may read, and only read, without a question: ["/var/log"]
read_roots = []
# Programs that may run, after approval under supervised, where the gate understands all of their options and words. Others, and
# anything that is known only when it runs, are high risk. What you add is asked about, builders and interpreters too ("make",
# "python3", "npm"); of go and git also single commands ("go test", "git commit").
allowed_commands = %s
# Hosts that the http tool may read from; "*.example.com" means all below it.
allowed_domains = %s
# How many bytes behind the allowed host's name an http call may have and run unasked, 0 to 1000: an address tells the server what
# stands in it. A longer one is of medium risk.
unasked_url_bytes = 200
audit_log = true                         # every decision is written to audit.jsonl; false is refused
# What keeps programs that tools start from everything else. auto: namespaces, Landlock and seccomp, by ourselves or by
# bubblewrap, or nothing runs. Weaker ones have to be named: landlock, container, seatbelt (macOS), off. See: clawsh policy
sandbox = "auto"

# Rules of your own, over the call and what the built-in rules found. deny beats ask beats allow. ask also makes a question of
# what supervised denies as high risk; allow answers questions; nothing lifts a block. The examples are checked by: clawsh config validate
# [[security.rules]]
# name = "no-secrets-file"               # lower-case letters, digits and -; the verdict says rule.NAME
# when = '.tool == "file_read" and (.args.path | endswith(".env"))'   # a jq expression over the call
# decide = "deny"                        # deny, ask or allow
# reason = "environment files hold keys" # for the verdict
# match = ['{"tool":"file_read","args":{"path":"app/.env"}}']   # calls for which it must hold
# not_match = ['{"tool":"file_read","args":{"path":"README.md"}}']   # and for which it must not

[sandbox]
layout = "open"                          # or staged: input/ read-only, data/ scratch, output/ for deliverables
read = []                                # what programs may read beside the system and the workspace
git_write = false                        # true: programs may commit; hooks and settings stay read-only
deterministic = false                    # true: fixed SOURCE_DATE_EPOCH, locale, time zone and seed
source_date_epoch = 315532800            # 1980-01-01
seed = 0                                 # that programs find in their environment, with deterministic
# image = "NAME@sha256:DIGEST"           # for sandbox = "container"
# container_engine = "docker"            # docker or podman, for sandbox = "container"
memory_bytes = 2147483648                # of all processes of a command together
processes = 256                          # and threads
open_files = 1024                        # of each process
cpus = 2                                 # processors to run on
cpu_s = 60                               # processor time of each process
file_bytes = 268435456                   # of each file that is written
tmp_bytes = 67108864                     # of /tmp
cache = true                             # go, npm, pip and cargo keep what they built, for each workspace apart
cache_bytes = 4294967296                 # of all caches together: the oldest is removed

[limits]
max_tool_rounds = 25                     # rounds of tool calls in a turn; without this key 5
max_response_bytes = 1048576             # of a model or a web server
max_output_bytes = 65536                 # of a tool, as the model gets it; the middle is cut out of longer ones
max_file_bytes = 1048576                 # of a file that is read or written
context_messages = 200                   # of a conversation that are sent to the model, at most
max_tokens = 0                           # that a turn may use before it ends; 0: no limit
max_cost = 0.0                           # that it may cost, in the currency of [usage], where every price is known; 0: no limit
tool_timeout_s = 30.0                    # of a call of any other tool
shell_timeout_s = 15.0                   # of a command that asks for no other time
shell_timeout_max_s = 600.0              # the longest time that a command may ask for
http_timeout_s = 20.0                    # of a call of the http tool
turn_timeout_s = 0.0                     # of a whole turn; 0: none
approval_timeout_s = 300.0               # then the answer is no

# What the model is sent of a conversation. Tokens are estimated: one for four bytes, more for scripts other than Latin.
[context]
max_tokens = 32000                       # results of tools are shortened, then the oldest turns left out; 0: no limit
compact_at_tokens = 24000                # from this size on, a model's summary takes the place of old turns; 0: never
project_file = "AGENTS.md"               # of the workspace's root: told to the model as data about the project; "": none

# What tokens cost, for clawsh usage and limits of cost. Of the prices that fit, the first counts; a * ends a beginning of a name.
[usage]
currency = "USD"                         # of all prices and of limits.max_cost
# [[usage.prices]]
# model = "local-model"                  # the model's name; a trailing * matches any suffix
# provider = "openai_compatible"         # only there; without this key, at every provider
# input_per_million = 0.5                # for a million tokens
# output_per_million = 1.5               # for a million tokens of answers

# A model that is part of clawsh, for trying things out and for tests: fixture = "steps.jsonl" scripts it.
[providers.models.local]
kind = "mock"                            # mock, openai-compatible or reliable
model = "mock"                           # the name under which it answers
# fixture = "steps.jsonl"                # its script: a step a line

# Any server with /chat/completions. The key stays in the environment: only the variable's name stands here.
[providers.models.openai_compatible]
kind = "openai-compatible"
base_url = "http://localhost:1234/v1"    # what comes before /chat/completions
model = "local-model"                    # where a turn and its agent name none
api_key_env = "OPENAI_API_KEY"           # the environment variable that holds the key
# timeout_s = 120.0                      # of silence, 120 if unset: until the answer begins, and between two pieces of it
# idle_timeout_s = 120.0                 # only between two pieces, where that is to be another time
# max_retries = 2                        # 2 if unset; on 429, 5xx and network errors
# temperature = 0.2                      # 0 to 2; without it, the server's own
# max_output_tokens = 4096               # of one answer; without it, the server's own limit
# headers = { "X-Title" = "clawsh" }     # sent with each request
# headers_env = { "api-key" = "KEY" }    # the same, from environment variables: for values that are secret
# query = { "api-version" = "1" }        # added to the URL
# body = { top_p = 0.9 }                 # fields added to each request; stream = false for a server that cannot stream

# The first that answers:
# [providers.models.both]
# kind = "reliable"
# providers = ["openai_compatible", "local"]   # asked in this order

# An agent beside the default one: clawsh --agent reviewer. Without a table, an agent is its file agents/ID/soul.md alone.
# [agents.reviewer]
# soul = "~/reviewer.md"                 # its system prompt; agents/ID/soul.md if unset
# model = "local-model"                  # instead of its provider's
# provider = "openai_compatible"         # instead of default_provider

[channels.cli]
enabled = true                           # false: clawsh answers nothing on the command line
# Tools that the model may call.
tools_allow = %s

[memory]
backend = "sqlite"                       # the only one
path = "$CLAWSH_HOME/memory.sqlite"      # the database of conversations

[receipts]
enabled = true                           # every call leaves a receipt; false is refused
path = "$CLAWSH_HOME/tool_receipts.log"  # the log of receipts; older parts of it are beside it
rotate_bytes = 67108864                  # then the log goes on in a new file; 0: never
`, list(d.Security.ForbiddenPaths), list(d.Security.ForbiddenCommands), list(d.Security.AllowedCommands),
		list(d.Security.AllowedDomains), list(d.Channels.CLI.ToolsAllow))
}

// list writes a TOML list over as many lines as it needs.
func list(items []string) string {
	line, out := "", []string{}
	for _, s := range items {
		item := fmt.Sprintf("%q, ", s)
		if len(line)+len(item) > 110 {
			out = append(out, strings.TrimRight(line, " "))
			line = ""
		}
		line += item
	}
	out = append(out, strings.TrimSuffix(line, ", "))
	if len(out) == 1 {
		return "[" + out[0] + "]"
	}
	return "[\n  " + strings.Join(out, "\n  ") + ",\n]"
}

// DisplayTOML is the configuration in force as TOML that can be loaded again. It holds no secret: only names of variables.
func (c *Config) DisplayTOML() string {
	b, err := toml.Marshal(file{Workspace: c.Workspace.Mode, WorkspaceDir: c.Workspace.Fixed, DefaultProvider: c.DefaultProvider, DefaultModel: c.DefaultModel,
		DefaultAgent: c.DefaultAgent, Security: c.Security, Sandbox: c.Sandbox, Limits: c.Limits, Usage: c.Usage, Context: c.Context, Channels: c.Channels, Memory: c.Memory, Receipts: c.Receipts,
		Agents: c.Agents, Providers: providers{c.Providers}})
	if err != nil {
		return fmt.Sprintf("# cannot be shown: %v\n", err)
	}
	return string(b)
}
