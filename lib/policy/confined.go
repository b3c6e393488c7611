package policy

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// Confined are the settings that decide what confines a call: a rule that was written at a question holds only while
// they are what they were when a person said yes.
type Confined struct {
	Sandbox   string   `json:"sandbox"`
	Layout    string   `json:"layout"`
	GitWrite  bool     `json:"git_write"`
	Read      []string `json:"read"`
	ReadRoots []string `json:"read_roots"`
	Only      bool     `json:"workspace_only"`
	Forbidden string   `json:"forbidden_sha256"` // of the forbidden paths, each with a line end; its beginning
	Image     string   `json:"image,omitempty"`
}

// confinement is what confines calls by a configuration. No setting gives commands a network.
func confinement(cfg *config.Config) Confined {
	c := Confined{Sandbox: cfg.Security.Sandbox, Layout: cfg.Sandbox.Layout, GitWrite: cfg.Sandbox.GitWrite,
		Read:      list(cfg.Sandbox.Read),
		ReadRoots: list(cfg.Readable()), Only: cfg.Security.WorkspaceOnly}
	sum := sha256.New()
	for _, path := range cfg.Security.ForbiddenPaths {
		fmt.Fprintln(sum, path)
	}
	c.Forbidden = fmt.Sprintf("%x", sum.Sum(nil))[:12]
	if c.Sandbox == "container" {
		c.Image = cfg.Sandbox.ContainerEngine + " " + cfg.Sandbox.Image
	}
	return c
}

// What every rule ends with that was written at a question. A text in it has its quotes escaped, and cannot hold them.
const (
	whenDirectory = ` and .directory == "`
	whenConfined  = ` and .confined == {`
)

// outdated tells whether a rule was written at a question before such rules named the directory and what confines it.
func outdated(r config.Rule) bool {
	return r.Origin == config.RuleWritten && r.Name == config.AlwaysName(r.When) &&
		(!strings.Contains(r.When, whenDirectory) || !strings.Contains(r.When, whenConfined))
}

// conditions are the surroundings in which a rule is written: as a part of an expression, and of an example.
func (p *Policy) conditions() (when, example string, ok bool) {
	confined, err := record.Encode(p.confined)
	if err != nil || p.directory == "" || !shown(string(confined)) {
		return "", "", false
	}
	when = whenDirectory + p.directory + `"` + ` and .confined == ` + string(confined)
	return when, `,"directory":` + jqText(p.directory) + `,"confined":` + string(confined), true
}
