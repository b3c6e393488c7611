// Package config is clawsh's configuration: one strict TOML file. Every error in it is reported with line and column.
//
// Load reads, checks and completes it; a missing key has its default, an unknown one is an error with a suggestion.
// Paths expand ~ and $VAR. Secrets never stand in the file: api_key_env names an environment variable, and no message
// or dump of this package shows a value that could be one. The shape is documented by the template that `clawsh init`
// writes.
package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"clawsh/lib/card"
)

// Config is the current configuration. Paths are absolute.
type Config struct {
	// Home is clawsh's home directory, File the configuration file, whether or not it exists.
	Home, File string

	// WorkspaceDir is the workspace, absolute; empty if Workspace.Err is set.
	WorkspaceDir    string
	Workspace       Workspace
	ReadRoots       []ReadRoot // of security.read_roots, with which of them are in force
	Secrets         []string   // places in the user's home directory that no read root shows
	DefaultProvider string
	DefaultModel    string
	DefaultAgent    string
	Security        Security
	Sandbox         Sandbox
	Providers       map[string]Provider
	Channels        Channels
	Memory          Memory
	Receipts        Receipts
	Agents          map[string]Agent
	Limits          Limits
	Usage           Usage
	Context         Context
	Written         []Rule // of rules.toml: what was allowed at a question

	found     bool
	stamps    stamps
	variables []string // that its paths name
}

// Security are the settings by which the gate decides.
type Security struct {
	Autonomy          string   `toml:"autonomy" want:"readonly|supervised|full"`
	WorkspaceOnly     bool     `toml:"workspace_only"`
	ForbiddenPaths    []string `toml:"forbidden_paths"`
	ReadRoots         []string `toml:"read_roots"`
	ForbiddenCommands []string `toml:"forbidden_commands"`
	AllowedCommands   []string `toml:"allowed_commands"`
	AllowedDomains    []string `toml:"allowed_domains"`
	AuditLog          bool     `toml:"audit_log" want:"true" why:"no call is allowed without an audit line"`
	// Sandbox is auto, or an engine by its name, or off.
	Sandbox string `toml:"sandbox" want:"auto|native|bubblewrap|landlock|container|seatbelt|off"`
	// Harmless is ask, or low: commands that only read the workspace run without a question.
	Harmless string `toml:"harmless" want:"ask|low"`
	// High is how high risk is decided at supervised.
	High string `toml:"high" want:"deny|ask"`
	// UnaskedURLBytes is how much data the address of an http call may carry at low risk.
	UnaskedURLBytes int    `toml:"unasked_url_bytes" want:"0..1000"`
	Rules           []Rule `toml:"rules,omitempty"`
}

// Provider is one table of [providers.models].
type Provider struct {
	Kind            string   `toml:"kind" want:"kinds"`
	Model           string   `toml:"model,omitempty"`
	BaseURL         string   `toml:"base_url,omitempty"`
	APIKeyEnv       string   `toml:"api_key_env,omitempty"`
	Fixture         string   `toml:"fixture,omitempty"`
	Providers       []string `toml:"providers,omitempty"`
	TimeoutS        float64  `toml:"timeout_s,omitempty" want:"0..86400"`
	IdleTimeoutS    float64  `toml:"idle_timeout_s,omitempty" want:"0..86400"`
	MaxRetries      *int     `toml:"max_retries,omitempty" want:"0..20"`
	Temperature     *float64 `toml:"temperature,omitempty" want:"0..2"`
	MaxOutputTokens int      `toml:"max_output_tokens,omitempty" want:"0.."`
	// Headers and Query are sent with each request, and so are the fields of Body. HeadersEnv names the variables with
	// the values of secret headers.
	Headers    map[string]string `toml:"headers,omitempty"`
	HeadersEnv map[string]string `toml:"headers_env,omitempty"`
	Query      map[string]string `toml:"query,omitempty"`
	Body       map[string]any    `toml:"body,omitempty"`
}

// Channels are the ways in.
type Channels struct {
	CLI CLI `toml:"cli"`
}

// CLI is the command-line channel.
type CLI struct {
	Enabled    bool     `toml:"enabled"`
	ToolsAllow []string `toml:"tools_allow"`
}

// Memory says where conversations are kept.
type Memory struct {
	Backend string `toml:"backend" want:"sqlite"`
	Path    string `toml:"path"`
}

// Receipts says where receipts are kept.
type Receipts struct {
	Enabled bool   `toml:"enabled" want:"true" why:"every call leaves a receipt"`
	Path    string `toml:"path"`
	// RotateBytes is the size at which the log is split off as a part; 0 means never.
	RotateBytes int64 `toml:"rotate_bytes" want:"0|65536..1099511627776"`
}

// Agent is an identity beside its soul.md.
type Agent struct {
	Soul     string `toml:"soul,omitempty"`
	Model    string `toml:"model,omitempty"`
	Provider string `toml:"provider,omitempty"`
}

// Limits limit a turn and its tools.
type Limits struct {
	MaxToolRounds    int     `toml:"max_tool_rounds" want:"0..1000"`
	MaxResponseBytes int     `toml:"max_response_bytes" want:"1024..6291456"`
	MaxOutputBytes   int     `toml:"max_output_bytes" want:"256..1048576"`
	MaxFileBytes     int     `toml:"max_file_bytes" want:"256..67108864"`
	ContextMessages  int     `toml:"context_messages" want:"1..10000"`
	MaxTokens        int     `toml:"max_tokens" want:"0..2147483647"` // of a turn; 0: no bound
	MaxCost          float64 `toml:"max_cost" want:"0..2147483647"`   // of a turn, in Usage.Currency; 0: no bound
	ToolTimeoutS     float64 `toml:"tool_timeout_s" want:"0.01..86400"`
	ShellTimeoutS    float64 `toml:"shell_timeout_s" want:"0.01..86400"`     // of a command that asks for no other
	ShellTimeoutMaxS float64 `toml:"shell_timeout_max_s" want:"0.01..86400"` // that a command may ask for
	HTTPTimeoutS     float64 `toml:"http_timeout_s" want:"0.01..86400"`
	TurnTimeoutS     float64 `toml:"turn_timeout_s" want:"0..86400"`
	ApprovalTimeoutS float64 `toml:"approval_timeout_s" want:"0.01..86400"`
}

// Seconds returns the limit of a key that ends in _s; 0 if there is no such key.
func (l Limits) Seconds(key string) float64 {
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("toml") == key && v.Field(i).CanFloat() {
			return v.Field(i).Float()
		}
	}
	return 0
}

// file is the configuration as TOML has it.
type file struct {
	Workspace       string           `toml:"workspace" want:"fixed|here"`
	WorkspaceDir    string           `toml:"workspace_dir"`
	DefaultProvider string           `toml:"default_provider"`
	DefaultModel    string           `toml:"default_model"`
	DefaultAgent    string           `toml:"default_agent"`
	Security        Security         `toml:"security"`
	Sandbox         Sandbox          `toml:"sandbox"`
	Limits          Limits           `toml:"limits"`
	Usage           Usage            `toml:"usage"`
	Context         Context          `toml:"context"`
	Channels        Channels         `toml:"channels"`
	Memory          Memory           `toml:"memory"`
	Receipts        Receipts         `toml:"receipts"`
	Agents          map[string]Agent `toml:"agents,omitempty"`
	Providers       providers        `toml:"providers"`
}

type providers struct {
	Models map[string]Provider `toml:"models"`
}

// allowedCommands are the programs that the policy has argument rules for, and the builtins of the shell that only
// look.
const allowedCommands = "ls cat head tail wc grep egrep fgrep find sort uniq cut tr sed awk jq diff cmp comm join paste column nl tac rev fold expand fmt " +
	"stat du df file readlink realpath basename dirname od hexdump xxd strings base64 cksum md5sum sha1sum sha256sum sha512sum zcat gzip " +
	"pwd echo printf true false test expr seq sleep date cal uname whoami id hostname uptime free nproc which xargs timeout nice env command " +
	"mkdir touch cp mv tee git go tree"

// ToolsNotOffered are the built-in tools that the configuration does not let the model use.
func (c *Config) ToolsNotOffered() []string {
	return slices.DeleteFunc(card.Names(), func(t string) bool { return slices.Contains(c.Channels.CLI.ToolsAllow, t) })
}

// OffersTool reports whether the model may use a tool with such needs.
func (c *Config) OffersTool(such func(card.Needs) bool) bool {
	return slices.ContainsFunc(c.Channels.CLI.ToolsAllow, func(name string) bool {
		t, ok := card.Find(name)
		return ok && such(t.Needs)
	})
}

// defaults are the values of absent keys, paths not yet expanded. Allowed commands are those whose arguments the policy
// understands: what they read and write is in the workspace, and none starts a program that is not on the list. Allowed
// domains are documentation and examples: places to read, not to send data to.
func defaults() file {
	return file{
		Workspace: modeFixed, WorkspaceDir: "~/clawsh-workspace", DefaultProvider: "local", DefaultModel: "mock",
		DefaultAgent: "default",
		Security: Security{Autonomy: "supervised", WorkspaceOnly: true, AuditLog: true, Sandbox: "auto",
			Harmless: "ask", High: "deny", UnaskedURLBytes: 200,
			ForbiddenPaths: []string{"/etc", "/sys", "/boot", "/proc", "~/.ssh", "~/.aws", "~/.gnupg", "~/.kube",
				"~/.docker", "~/.netrc", "~/.config/gcloud"},
			ReadRoots: []string{},
			ForbiddenCommands: []string{"rm", "shutdown", "reboot", "halt", "poweroff", "mkfs", "dd", "sudo", "su",
				"doas"},
			AllowedCommands: strings.Fields(allowedCommands),
			AllowedDomains: []string{"example.com", "*.wikipedia.org", "pkg.go.dev", "docs.python.org",
				"developer.mozilla.org"}},
		Sandbox: sandboxDefaults(),
		Limits: Limits{MaxToolRounds: 5, MaxResponseBytes: 1 << 20, MaxOutputBytes: 64 << 10, MaxFileBytes: 1 << 20,
			ContextMessages: 200,
			ToolTimeoutS:    30, ShellTimeoutS: 15, ShellTimeoutMaxS: 600, HTTPTimeoutS: 20, ApprovalTimeoutS: 300},
		Usage:    Usage{Currency: "USD"},
		Context:  Context{MaxTokens: 32_000, CompactAtTokens: 24_000, ProjectFile: "AGENTS.md"},
		Channels: Channels{CLI: CLI{Enabled: true, ToolsAllow: card.Names()}},
		Memory:   Memory{Backend: "sqlite", Path: "$CLAWSH_HOME/memory.sqlite"},
		Receipts: Receipts{Enabled: true, Path: "$CLAWSH_HOME/" + ReceiptsName, RotateBytes: 64 << 20},
		Providers: providers{Models: map[string]Provider{
			"local": {Kind: "mock", Model: "mock"},
			"openai_compatible": {Kind: "openai-compatible", BaseURL: "http://localhost:1234/v1", Model: "local-model",
				APIKeyEnv: "OPENAI_API_KEY"},
		}},
	}
}

// Found reports whether a configuration file was read; if not, the defaults are in force.
func (c *Config) Found() bool { return c.found }

// SecretEnv returns the names of the environment variables that hold provider keys, sorted.
func (c *Config) SecretEnv() []string {
	var names []string
	for _, p := range c.Providers {
		for _, name := range append(slices.Collect(maps.Values(p.HeadersEnv)), p.APIKeyEnv) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// ReceiptsName is the receipt log in the home, unless receipts.path is set.
const ReceiptsName = "tool_receipts.log"

// EstopPath is the file whose existence stops all tools.
func (c *Config) EstopPath() string { return filepath.Join(c.Home, "ESTOP") }

// AuditPath is the log of the gate's decisions.
func (c *Config) AuditPath() string { return filepath.Join(c.Home, "audit.jsonl") }

// ResultsDir is the directory of kept long results.
func (c *Config) ResultsDir() string { return filepath.Join(c.Home, "results") }

// KeysDir is the key directory.
func (c *Config) KeysDir() string { return filepath.Join(c.Home, "keys") }

// PermitKeyPath is the private key by which the gate signs permits.
func (c *Config) PermitKeyPath() string { return filepath.Join(c.KeysDir(), "permit.key") }

// PermitPubPath is the public key by which permits are verified.
func (c *Config) PermitPubPath() string { return filepath.Join(c.KeysDir(), "permit.pub") }

// SealKeyDir is the directory of claw-exec's own key, with which it seals results.
func (c *Config) SealKeyDir() string { return filepath.Join(c.KeysDir(), "exec") }

// ExecutorsDir holds the public keys of the claw-execs whose seals claw-receipt accepts: a file ID.pub each.
func (c *Config) ExecutorsDir() string { return filepath.Join(c.KeysDir(), "executors") }

// GatesDir holds the public keys of other hosts' gates that claw-exec accepts, with their policies: a file ID.pub each.
func (c *Config) GatesDir() string { return filepath.Join(c.KeysDir(), "gates") }

// PermitsUsedPath is the register of used permits.
func (c *Config) PermitsUsedPath() string { return filepath.Join(c.Home, "permits.used") }

// ReceiptKeysDir is the directory of the receipt keys.
func (c *Config) ReceiptKeysDir() string { return filepath.Join(c.KeysDir(), "receipt") }

// ReceiptsDir is the directory beside the receipts: their head, and older parts of them.
func (c *Config) ReceiptsDir() string { return c.Receipts.Path + ".d" }

// UnderWayPath is the file locked by every stage that runs calls or writes their receipts: if nobody has the lock, no
// call is running.
func (c *Config) UnderWayPath() string { return filepath.Join(c.Home, "under-way.lock") }

// ToolsPath is the list of tools that claw-loop keeps, so that it need not ask claw-exec at each start.
func (c *Config) ToolsPath() string { return filepath.Join(c.Home, "tools.json") }

// HistoryPath is the history of the conversation on the terminal.
func (c *Config) HistoryPath() string { return filepath.Join(c.Home, "history") }
