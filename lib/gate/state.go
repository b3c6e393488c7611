package gate

import (
	"errors"
	"fmt"
	"io"

	"clawsh/lib/config"
	"clawsh/lib/policy"
	"clawsh/lib/terminal"
)

// State is the policy in force, and whether the emergency stop overrides it.
type State struct {
	policy.Description
	WorkspaceFrom      string            `json:"workspace_from"`                // flag, environment, here or config
	WorkspaceTrustedAt string            `json:"workspace_trusted_at,omitzero"` // of here
	WorkspaceUntrusted bool              `json:"workspace_untrusted,omitzero"`  // of here: no tool runs yet
	WorkspaceMissing   bool              `json:"workspace_missing,omitzero"`
	ReadRootsUnused    []config.ReadRoot `json:"read_roots_unused,omitzero"`
	Estop              bool              `json:"estop"`
	EstopReason        string            `json:"estop_reason,omitzero"`
}

// WriteText writes it for people.
func (r State) WriteText(w io.Writer) error {
	state := "off"
	if r.Estop {
		state = "on, no tool can run: " + r.EstopReason
	}
	if _, err := fmt.Fprintf(w, "%-19s %s\n", "emergency stop", terminal.Escape(state)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%-19s %s\n", "workspace named by", r.because()); err != nil {
		return err
	}
	for _, root := range r.ReadRootsUnused {
		if _, err := fmt.Fprintf(w, "%-19s %s is not in force: %s\n", "read root", terminal.Escape(root.Path),
			terminal.Escape(root.Why)); err != nil {
			return err
		}
	}
	return r.Description.WriteText(w)
}

// because says why the workspace is the one that it is.
func (r State) because() string {
	why := map[string]string{config.FromFlag: "-C on the command line", config.FromEnvironment: config.EnvWorkspace +
		" in the environment",
		config.FromHere:   `workspace = "here": clawsh was started there; you trusted it on ` + r.WorkspaceTrustedAt,
		config.FromConfig: "workspace_dir in the configuration"}[r.WorkspaceFrom]
	if r.WorkspaceUntrusted {
		why = `workspace = "here"; not trusted yet, so no tool runs (to trust it: clawsh workspace trust DIR)`
	}
	if r.WorkspaceMissing {
		why += "; does not exist, clawsh init creates it"
	}
	return why
}

// place fills in what is in force here.
func (r *State) place(cfg *config.Config) {
	r.WorkspaceFrom, r.WorkspaceTrustedAt, r.WorkspaceMissing = cfg.Workspace.From, cfg.Workspace.Trusted,
		cfg.Workspace.Real == ""
	for _, root := range cfg.ReadRoots {
		if root.Why != "" {
			r.ReadRootsUnused = append(r.ReadRootsUnused, root)
		}
	}
}

// InForce describes the policy of a configuration. In a workspace that is not trusted yet it is what would be in force.
func InForce(cfg *config.Config) (*State, error) {
	untrusted := errors.Is(cfg.CheckWorkspace(), config.ErrUntrusted)
	if untrusted {
		if err := cfg.Admit(); err != nil {
			return nil, err
		}
	}
	p, err := policy.New(cfg, policy.OS{})
	if err != nil {
		return nil, err
	}
	r := &State{Description: p.Describe(), WorkspaceUntrusted: untrusted}
	r.place(cfg)
	r.Estop, r.EstopReason = config.Estop(cfg.Home)
	return r, nil
}
