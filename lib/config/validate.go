package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"clawsh/lib/card"
	"clawsh/lib/place"
	"clawsh/lib/spelling"
)

// validator turns a decoded file into a Config, noting every problem with its place.
type validator struct {
	paths    Paths
	at       map[string]position
	problems *Problems
}

func (v *validator) problem(key, format string, args ...any) {
	pos, ok := v.at[key]
	for k := key; !ok && k != ""; pos, ok = v.at[k] {
		k = above(k)
	}
	if !ok {
		pos = position{1, 1}
	}
	problem := Problem{Line: pos.line, Column: pos.column, Key: asWritten(key), Message: fmt.Sprintf(format, args...)}
	v.problems.List = append(v.problems.List, problem)
}

// above is the table that a key is in, "" if it is in none: of an element of a list that is the list.
func above(key string) string {
	if i := strings.LastIndexByte(key, '['); i > 0 && strings.HasSuffix(key, "]") {
		return key[:i]
	}
	table := ""
	for part := range parts(key) {
		if len(table)+len(part)+1 < len(key) {
			table = join(table, part)
		}
	}
	return table
}

// asWritten returns a key as people write it.
func asWritten(key string) string {
	var names []string
	for part := range parts(key) {
		name, _, _ := strings.Cut(part, "[")
		if plain := strings.ReplaceAll(name, `"."`, "."); plain != name {
			name = `"` + plain + `"`
		}
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

func (v *validator) check(f *file, c *Config) {
	v.unknownKeys()
	c.Sandbox = f.Sandbox
	c.Security, c.Providers, c.Channels, c.Memory, c.Receipts = f.Security, f.Providers.Models, f.Channels, f.Memory,
		f.Receipts
	c.Agents, c.Limits, c.Usage, c.Context = f.Agents, f.Limits, f.Usage, f.Context
	c.DefaultProvider, c.DefaultModel, c.DefaultAgent = f.DefaultProvider, f.DefaultModel, f.DefaultAgent
	v.values("", "", reflect.ValueOf(f).Elem())
	v.places(f, c)
	v.security(&c.Security)
	v.sandbox(&c.Sandbox, c.Security.Sandbox, c)
	v.rules(c.Security.Rules)
	v.providers(c)
	v.agents(c)
	v.shellTimeout(&c.Limits)
	v.usage(&c.Usage, c)
	v.projectFile(c.Context.ProjectFile)
	for _, t := range c.Channels.CLI.ToolsAllow {
		if _, known := card.Find(t); !known {
			v.problem("channels.cli.tools_allow", "%s: want names among %s", quote("", t),
				strings.Join(card.Names(), ", "))
		}
	}
}

// unknownKeys refuses keys that are not in the schema, exactly as written, and suggests the nearest one that is.
func (v *validator) unknownKeys() {
	for key := range v.at {
		if _, known := find(key); known {
			continue
		}
		table := above(key)
		if _, known := find(table); table != "" && !known && v.has(table) {
			continue // the table itself is reported
		}
		name := strings.ToLower(strings.TrimPrefix(key[len(table):], "."))
		msg := "is not a known key"
		if name == "api_key" {
			msg = "is not a known key: API keys come from the environment; name the variable with api_key_env"
		} else if near := nearest(name, siblings(table)); near != "" {
			msg += fmt.Sprintf(": did you mean %s?", near)
		}
		v.problem(key, "%s", msg)
	}
}

func (v *validator) has(key string) bool { _, ok := v.at[key]; return ok }

func nearest(name string, known []string) string {
	return cmp.Or(spelling.Nearest(name, known, 2), spelling.Longer(name, known))
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
	if first, _, _ := strings.Cut(value, "/"); first == "." || first == ".." || strings.Contains(value, "$PWD") ||
		strings.Contains(value, "${PWD}") {
		v.problem("workspace_dir",
			`%s: want an absolute path; for the directory in which clawsh is started, write workspace = "here"`,
			quote("", value))
		return ""
	}
	return v.path("workspace_dir", value)
}

func (v *validator) places(f *file, c *Config) {
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
	for key, path := range map[string]string{"memory.path": c.Memory.Path, "receipts.path": c.Receipts.Path,
		"workspace_dir": c.File} {
		if place.Within(c.WorkspaceDir, path) {
			v.problem(key, "%s must not lie in the workspace, where tools write", path)
		}
	}
	home := v.paths.getenv("HOME")
	switch ws := c.WorkspaceDir; {
	case ws == "/" || ws == filepath.Clean(home):
		v.problem("workspace_dir", "%s: tools could change all files; want a directory below it", quote("", ws))
	case place.Within(ws, c.Home) || place.Within(c.Home, ws):
		v.problem("workspace_dir", "%s: it and clawsh's home %s must not contain each other", quote("", ws), c.Home)
	case home != "" && place.Within(ws, home):
		v.problem("workspace_dir", "%s: it contains your home directory", quote("", ws))
	}
}

func (v *validator) security(s *Security) {
	for _, name := range s.ForbiddenCommands {
		if !isCommand(name) {
			v.problem("security.forbidden_commands", "%s: want a program's plain name, without directory or arguments",
				quote("", name))
		}
	}
	for _, name := range s.AllowedCommands {
		program, word, both := strings.Cut(name, " ")
		if !isCommand(program) || both && (!isCommand(word) || program != "go" && program != "git") {
			v.problem("security.allowed_commands",
				"%s: want a program's plain name, without directory or arguments, or go or git and one word, such as \"go test\"", quote("", name))
		}
	}
	for _, d := range s.AllowedDomains {
		if !isDomain(d) {
			v.problem("security.allowed_domains",
				`%s: want a host name in lower case, or "*.example.com": no scheme, port or path`, quote("", d))
		}
	}
}

func (v *validator) providers(c *Config) {
	if _, ok := c.Providers[c.DefaultProvider]; !ok {
		v.problem("default_provider", "%s: there is no [providers.models.%s]", quote("", c.DefaultProvider), "…")
	}
	for name, p := range c.Providers {
		key := "providers.models." + quoteDots(name)
		if !isName(name) {
			v.problem(key, "want a name of lower-case letters, digits, _, - and .")
		}
		if p.APIKeyEnv != "" && !isVariable(p.APIKeyEnv) {
			v.problem(key+".api_key_env", "(not shown): want the name of an environment variable, not the key itself")
		}
		v.provider(key, p)
		v.checkKind(key, name, c)
	}
}

func (v *validator) agents(c *Config) {
	if !isAgent(c.DefaultAgent) {
		v.problem("default_agent", "%s: want lower-case letters, digits, _ and -", quote("", c.DefaultAgent))
	}
	for id, a := range c.Agents {
		key := "agents." + quoteDots(id)
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

// shellTimeout keeps the longest time of a command from being less than the usual one.
func (v *validator) shellTimeout(l *Limits) {
	if l.ShellTimeoutMaxS >= l.ShellTimeoutS {
		return
	}
	if v.has("limits.shell_timeout_max_s") {
		v.problem("limits.shell_timeout_max_s", "%g: less than shell_timeout_s, %g", l.ShellTimeoutMaxS,
			l.ShellTimeoutS)
	}
	l.ShellTimeoutMaxS = l.ShellTimeoutS
}
