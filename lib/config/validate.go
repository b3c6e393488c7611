package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// validator turns a decoded file into a Config, noting every problem with its place.
type validator struct {
	paths    Paths
	at       map[string]position
	problems *Problems
}

func (v *validator) problem(key, format string, args ...any) {
	pos, ok := v.at[key]
	for k := key; !ok && strings.Contains(k, "."); {
		k = k[:strings.LastIndex(k, ".")]
		pos, ok = v.at[k]
	}
	if !ok {
		pos = position{1, 1}
	}
	v.problems.List = append(v.problems.List, Problem{Line: pos.line, Column: pos.column, Key: key, Message: fmt.Sprintf(format, args...)})
}

// enum checks that a value is one of a few, and names them if it is not.
func (v *validator) enum(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		last := len(allowed) - 1
		want := allowed[last]
		if last > 0 {
			want = strings.Join(allowed[:last], ", ") + " or " + want
		}
		v.problem(key, "%s: want %s", quote("", value), want)
	}
}

func (v *validator) check(f *file, c *Config) {
	v.unknownKeys(f)
	c.Sandbox = f.Sandbox
	c.Security, c.Providers, c.Channels, c.Memory, c.Receipts = f.Security, f.Providers.Models, f.Channels, f.Memory, f.Receipts
	c.Agents, c.Limits, c.Usage, c.Context = f.Agents, f.Limits, f.Usage, f.Context
	c.DefaultProvider, c.DefaultModel, c.DefaultAgent = f.DefaultProvider, f.DefaultModel, f.DefaultAgent
	v.places(f, c)
	v.security(&c.Security)
	v.sandbox(&c.Sandbox, c.Security.Sandbox, c)
	v.rules(c.Security.Rules)
	v.providers(c)
	v.agents(c)
	v.limits(&c.Limits)
	if n := c.Receipts.RotateBytes; n != 0 && (n < 64<<10 || n > 1<<40) {
		v.problem("receipts.rotate_bytes", "%d: want 65536 or more, or 0 for never", n)
	}
	v.spending(&c.Limits)
	v.usage(&c.Usage, c)
	v.context(&c.Context)
	for _, t := range c.Channels.CLI.ToolsAllow {
		if !slices.Contains(toolNames, t) {
			v.problem("channels.cli.tools_allow", "%s: want names among %s", quote("", t), strings.Join(toolNames, ", "))
		}
	}
}

// schema are the keys there are, with * for a name of the user's choice: those of each table, and before them, below "", the tables and
// the keys outside of them.
func schema() map[string]string {
	return map[string]string{
		"":                   "workspace workspace_dir default_provider default_model default_agent security security.rules sandbox limits usage usage.prices context channels channels.cli memory receipts agents agents.* providers providers.models providers.models.*",
		"security":           "autonomy workspace_only forbidden_paths read_roots forbidden_commands allowed_commands allowed_domains audit_log sandbox harmless high unasked_url_bytes",
		"sandbox":            sandboxKeys,
		"security.rules":     ruleKeys,
		"usage":              usageKeys,
		"usage.prices":       priceKeys,
		"context":            contextKeys,
		"limits":             "max_tool_rounds max_response_bytes max_output_bytes max_file_bytes context_messages max_tokens max_cost tool_timeout_s shell_timeout_s shell_timeout_max_s http_timeout_s turn_timeout_s approval_timeout_s",
		"channels.cli":       "enabled tools_allow",
		"memory":             "backend path",
		"receipts":           "enabled path rotate_bytes",
		"agents.*":           "soul model provider",
		"providers.models.*": "kind model base_url api_key_env fixture providers timeout_s idle_timeout_s max_retries temperature max_output_tokens headers headers_env query body",
	}
}

// known tells whether a key is in the schema, given what general makes of it.
func known(tables map[string]string, key string) bool {
	if word(tables[""], key) {
		return true
	}
	i := strings.LastIndexByte(key, '.')
	return i > 0 && word(tables[key[:i]], key[i+1:])
}

// word tells whether a name is among names with blanks between them.
func word(names, name string) bool {
	for w := range strings.FieldsSeq(names) {
		if w == name {
			return true
		}
	}
	return false
}

// unknownKeys refuses keys that are not in the schema, exactly as written, and suggests the nearest one that is.
func (v *validator) unknownKeys(f *file) {
	tables := schema()
	for key := range v.at {
		if known(tables, general(key)) {
			continue
		}
		parent, name := "", key
		if i := strings.LastIndex(key, "."); i >= 0 {
			parent, name = key[:i], key[i+1:]
		}
		if parent != "" && !known(tables, general(parent)) && v.has(parent) {
			continue // the table itself is reported
		}
		msg := "is not a known key"
		if strings.EqualFold(name, "api_key") {
			msg = "is not a known key: keys come from the environment, name the variable with api_key_env"
		} else if near := nearest(name, siblings(parent)); near != "" {
			msg += fmt.Sprintf(": did you mean %s?", near)
		}
		v.problem(key, "%s", msg)
	}
}

func (v *validator) has(key string) bool { _, ok := v.at[key]; return ok }

// general replaces the user's own names in a key by *.
func general(key string) string {
	for _, prefix := range []string{"providers.models.", "agents."} {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			_, tail, found := strings.Cut(rest, ".")
			if table, _, below := strings.Cut(tail, "."); below && slices.Contains(openTables, table) {
				tail = table
			}
			if found {
				return prefix + "*." + tail
			}
			return prefix + "*"
		}
	}
	return key
}

// siblings are the known names in a table.
func siblings(parent string) []string {
	var names []string
	prefix := general(parent)
	if parent != "" {
		prefix += "."
	}
	tables := schema()
	for k := range strings.FieldsSeq(tables[""]) {
		if rest, ok := strings.CutPrefix(k, prefix); ok && !strings.Contains(rest, ".") && rest != "*" {
			names = append(names, rest)
		}
	}
	if parent != "" {
		names = append(names, strings.Fields(tables[general(parent)])...)
	}
	slices.Sort(names)
	return names
}

// nearest is the known name that shares the most of its letters' pairs with the word, if that is most of them.
func nearest(word string, known []string) string {
	best, score := "", 0.5
	for _, k := range known {
		if s := similarity(strings.ToLower(word), k); s > score {
			best, score = k, s
		}
	}
	return best
}

// similarity is the Dice coefficient of two words' letter pairs.
func similarity(a, b string) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	shared := 0
	for i := range len(b) - 1 {
		if pairs[b[i:i+2]] > 0 {
			pairs[b[i:i+2]]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b)-2)
}

// path expands a path, or notes why it cannot.
func (v *validator) path(key, value string) string {
	v.problems.variables = append(v.problems.variables, variablesOf(value)...)
	out, err := v.paths.expand(value)
	if err != nil {
		v.problem(key, "%s: %v", quote(key, value), err)
	}
	return out
}

// workspaceDir expands the fixed workspace. Who writes . or $PWD means the directory in which clawsh is started.
func (v *validator) workspaceDir(value string) string {
	if first, _, _ := strings.Cut(value, "/"); first == "." || first == ".." || strings.Contains(value, "$PWD") || strings.Contains(value, "${PWD}") {
		v.problem("workspace_dir", `%s: want an absolute path; for the directory in which clawsh is started, write workspace = "here"`, quote("", value))
		return ""
	}
	return v.path("workspace_dir", value)
}

func (v *validator) places(f *file, c *Config) {
	v.enum("workspace", f.Workspace, modeFixed, modeHere)
	c.WorkspaceDir = v.workspaceDir(f.WorkspaceDir)
	c.Memory.Path = v.path("memory.path", f.Memory.Path)
	c.Receipts.Path = v.path("receipts.path", f.Receipts.Path)
	for i, p := range c.Security.ForbiddenPaths {
		c.Security.ForbiddenPaths[i] = v.path("security.forbidden_paths", p)
	}
	v.readRoots(c)
	if c.WorkspaceDir == "" {
		return
	}
	for key, path := range map[string]string{"memory.path": c.Memory.Path, "receipts.path": c.Receipts.Path, "workspace_dir": c.File} {
		if inside(path, c.WorkspaceDir) {
			v.problem(key, "%s must not lie in the workspace, where tools write", path)
		}
	}
	home := v.paths.getenv("HOME")
	switch ws := c.WorkspaceDir; {
	case ws == "/" || ws == filepath.Clean(home):
		v.problem("workspace_dir", "%s: tools would own everything; want a directory below it", quote("", ws))
	case inside(c.Home, ws) || inside(ws, c.Home):
		v.problem("workspace_dir", "%s: it and clawsh's home %s must not contain each other", quote("", ws), c.Home)
	case home != "" && inside(home, ws):
		v.problem("workspace_dir", "%s: it contains your home directory", quote("", ws))
	}
}

// inside tells whether path is dir or below it.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(os.PathSeparator))+string(os.PathSeparator))
}

// maxUnaskedURLBytes is more than addresses of pages have, and less than a file.
const maxUnaskedURLBytes = 1000

func (v *validator) security(s *Security) {
	v.enum("security.autonomy", s.Autonomy, "readonly", "supervised", "full")
	v.enum("security.harmless", s.Harmless, "ask", "low")
	v.enum("security.high", s.High, "deny", "ask")
	if s.UnaskedURLBytes < 0 || s.UnaskedURLBytes > maxUnaskedURLBytes {
		v.problem("security.unasked_url_bytes", "%d: want 0 to %d", s.UnaskedURLBytes, maxUnaskedURLBytes)
	}
	for _, name := range s.ForbiddenCommands {
		if !isCommand(name) {
			v.problem("security.forbidden_commands", "%s: want a program's plain name, without directory or arguments", quote("", name))
		}
	}
	for _, name := range s.AllowedCommands {
		program, word, both := strings.Cut(name, " ")
		if !isCommand(program) || both && (!isCommand(word) || program != "go" && program != "git") {
			v.problem("security.allowed_commands", "%s: want a program's plain name, without directory or arguments, or go or git and one word, such as \"go test\"", quote("", name))
		}
	}
	for _, d := range s.AllowedDomains {
		if !isDomain(d) {
			v.problem("security.allowed_domains", `%s: want a host name in lower case, or "*.example.com": no scheme, port or path`, quote("", d))
		}
	}
	if !s.AuditLog {
		v.problem("security.audit_log", "false: no call is allowed without an audit line; remove this key")
	}
}

func (v *validator) providers(c *Config) {
	v.enum("memory.backend", c.Memory.Backend, "sqlite")
	if !c.Receipts.Enabled {
		v.problem("receipts.enabled", "false: every call leaves a receipt; remove this key")
	}
	if _, ok := c.Providers[c.DefaultProvider]; !ok {
		v.problem("default_provider", "%s: there is no [providers.models.%s]", quote("", c.DefaultProvider), "…")
	}
	for name, p := range c.Providers {
		key := "providers.models." + name
		if !isName(name) {
			v.problem(key, "want a name of lower-case letters, digits, _, - and .")
		}
		v.enum(key+".kind", p.Kind, "mock", "openai-compatible", "reliable")
		if p.APIKeyEnv != "" && !isVariable(p.APIKeyEnv) {
			v.problem(key+".api_key_env", "(not shown): want the name of an environment variable, not the key itself")
		}
		if p.TimeoutS < 0 || p.IdleTimeoutS < 0 || p.TimeoutS > 86400 || p.IdleTimeoutS > 86400 {
			v.problem(key+".timeout_s", "want seconds, 0 to 86400")
		}
		if p.MaxRetries != nil && (*p.MaxRetries < 0 || *p.MaxRetries > 20) {
			v.problem(key+".max_retries", "%d: want 0 to 20", *p.MaxRetries)
		}
		if p.Temperature != nil && (*p.Temperature < 0 || *p.Temperature > 2) {
			v.problem(key+".temperature", "%g: want 0 to 2", *p.Temperature)
		}
		if p.MaxOutputTokens < 0 {
			v.problem(key+".max_output_tokens", "%d: want 0 or more", p.MaxOutputTokens)
		}
		v.provider(key, p)
		v.kind(key, name, p, c)
	}
}

// kind checks what is special to the kinds of provider.
func (v *validator) kind(key, name string, p Provider, c *Config) {
	switch p.Kind {
	case "mock":
		if strings.HasPrefix(p.Fixture, "~") || strings.Contains(p.Fixture, "$") {
			p.Fixture = v.path(key+".fixture", p.Fixture)
			c.Providers[name] = p
		}
	case "openai-compatible":
		v.baseURL(key+".base_url", p.BaseURL)
	case "reliable":
		if len(p.Providers) == 0 {
			v.problem(key+".providers", "is empty: want the names of providers, in order")
		}
		for _, n := range p.Providers {
			if _, ok := c.Providers[n]; !ok {
				v.problem(key+".providers", "%s: there is no such provider", quote("", n))
			}
		}
		if reaches(c.Providers, name, name, 0) {
			v.problem(key+".providers", "leads back to %s itself", name)
		}
	}
}

func (v *validator) agents(c *Config) {
	if !isAgent(c.DefaultAgent) {
		v.problem("default_agent", "%s: want lower-case letters, digits, _ and -", quote("", c.DefaultAgent))
	}
	for id, a := range c.Agents {
		key := "agents." + id
		if !isAgent(id) {
			v.problem(key, "want lower-case letters, digits, _ and -")
		}
		if a.Soul != "" {
			a.Soul = v.path(key+".soul", a.Soul)
			c.Agents[id] = a
		}
		if _, ok := c.Providers[a.Provider]; a.Provider != "" && !ok {
			v.problem(key+".provider", "%s: there is no such provider", quote("", a.Provider))
		}
	}
}

func (v *validator) limits(l *Limits) {
	if l.ShellTimeoutMaxS < l.ShellTimeoutS {
		if v.has("limits.shell_timeout_max_s") {
			v.problem("limits.shell_timeout_max_s", "%g: it is less than shell_timeout_s, %g", l.ShellTimeoutMaxS, l.ShellTimeoutS)
		}
		l.ShellTimeoutMaxS = l.ShellTimeoutS
	}
	for _, n := range []struct {
		key       string
		value     int
		low, high int
	}{{"max_tool_rounds", l.MaxToolRounds, 0, 1000}, {"max_response_bytes", l.MaxResponseBytes, 1024, 6 << 20}, {"max_output_bytes", l.MaxOutputBytes, 256, 1 << 20},
		{"max_file_bytes", l.MaxFileBytes, 256, 64 << 20}, {"context_messages", l.ContextMessages, 1, 10000}} {
		if n.value < n.low || n.value > n.high {
			v.problem("limits."+n.key, "%d: want %d to %d", n.value, n.low, n.high)
		}
	}
	for _, n := range []struct {
		key   string
		value float64
		low   float64
	}{{"tool_timeout_s", l.ToolTimeoutS, 0.01}, {"shell_timeout_s", l.ShellTimeoutS, 0.01}, {"shell_timeout_max_s", l.ShellTimeoutMaxS, 0.01}, {"http_timeout_s", l.HTTPTimeoutS, 0.01},
		{"turn_timeout_s", l.TurnTimeoutS, 0}, {"approval_timeout_s", l.ApprovalTimeoutS, 0.01}} {
		if !(n.value >= n.low && n.value <= 86400) {
			v.problem("limits."+n.key, "%g: want seconds, %g to 86400", n.value, n.low)
		}
	}
}
