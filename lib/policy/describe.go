package policy

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/terminal"
)

// Description is the policy for people and programs.
type Description struct {
	Autonomy          string   `json:"autonomy"`
	Harmless          string   `json:"harmless"`
	High              string   `json:"high"`
	Workspace         string   `json:"workspace"`
	WorkspaceOnly     bool     `json:"workspace_only"`
	ReadRoots         []string `json:"read_roots"`
	ForbiddenPaths    []string `json:"forbidden_paths"`
	ForbiddenCommands []string `json:"forbidden_commands"`
	AllowedCommands   []string `json:"allowed_commands"`
	AllowedDomains    []string `json:"allowed_domains"`
	UnaskedURLBytes   int      `json:"unasked_url_bytes"`
	Tools             []string `json:"tools"`
	Sandbox           string   `json:"sandbox"`
	Layout            string   `json:"layout"`
	// not in the hash: permits name the workspace by other means
	Directory  string        `json:"directory,omitzero"`
	Confined   Confined      `json:"confined"`
	Rules      []config.Rule `json:"rules"`
	PolicyHash string        `json:"policy_hash,omitzero"`
}

// Describe returns the policy in force.
func (p *Policy) Describe() Description {
	d := p.describe()
	d.PolicyHash, d.Directory = p.Hash(), p.directory
	return d
}

// describe is the description that the hash is over.
func (p *Policy) describe() Description {
	own := []config.Rule{}
	for _, r := range p.rules {
		own = append(own, r.Rule)
	}
	return Description{Autonomy: p.autonomy, Harmless: map[bool]string{false: "ask", true: "low"}[p.harmless],
		High: map[bool]string{false: "deny", true: "ask"}[p.high], Workspace: p.root, WorkspaceOnly: p.workspaceOnly,
		ReadRoots: list(p.readRoots), ForbiddenPaths: list(p.forbidden),
		ForbiddenCommands: list(p.never), AllowedCommands: list(p.listed), AllowedDomains: list(p.domains),
		UnaskedURLBytes: p.urlBytes, Tools: list(p.tools),
		Sandbox: p.sandbox, Layout: map[bool]string{false: "open", true: "staged"}[p.staged], Confined: p.confined,
		Rules: own}
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func userRules(rules []config.Rule) string {
	if len(rules) == 0 {
		return "none"
	}
	var out []string
	for _, r := range rules {
		out = append(out, r.Name+" ("+r.Decide+")")
	}
	return fmt.Sprintf("%d: %s", len(rules), strings.Join(out, " "))
}

// sandboxEffect says in words what a mode of the sandbox means.
func sandboxEffect(mode string) string {
	switch mode {
	case "off":
		return "commands run with your rights"
	case "auto":
		return "commands run in the first engine that provides every guarantee, or not at all"
	}
	return "commands run in this engine, or not at all"
}

// effect says in words what the level and its keys mean.
func (d Description) effect() string {
	harmless := map[string]string{"ask": "",
		"low": ", commands that only read run without approval (harmless = low)"}[d.Harmless]
	high := map[string]string{"deny": "high is denied", "ask": "high asks, too (high = ask)"}[d.High]
	switch d.Autonomy {
	case "readonly":
		return "low risk runs, everything else is denied" + harmless
	case "supervised":
		return "low risk runs, medium asks, " + cmp.Or(high, "high is denied") + harmless
	}
	return "asks only before it writes files that other programs run, such as .envrc"
}

// WriteText writes the policy for people.
func (d Description) WriteText(w io.Writer) error {
	boundary := "nothing outside it is accessed"
	switch {
	case !d.WorkspaceOnly:
		boundary = "workspace_only = false: other places are medium risk"
	case len(d.ReadRoots) > 0:
		boundary = "outside it only the read roots can be read, and nothing can be changed"
	}
	for _, row := range [][2]string{
		{"autonomy", d.Autonomy + ": " + d.effect()}, {"workspace", d.Workspace + ": " + boundary},
		{"read roots", cmp.Or(strings.Join(d.ReadRoots, " "), "none")},
		{"forbidden paths", strings.Join(d.ForbiddenPaths, " ")},
		{"forbidden commands", strings.Join(d.ForbiddenCommands, " ")},
		{"allowed commands", strings.Join(d.AllowedCommands, " ")},
		{"allowed domains", strings.Join(d.AllowedDomains, " ")},
		{"tools", strings.Join(d.Tools, " ")}, {"sandbox", d.Sandbox + ": " + sandboxEffect(d.Sandbox)},
		{"own rules", userRules(d.Rules)}, {"policy hash", d.PolicyHash}} {
		if _, err := fmt.Fprintf(w, "%-19s %s\n", row[0], terminal.Escape(row[1])); err != nil {
			return err
		}
	}
	return nil
}
