package main

import (
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/terminal"
)

// access is the row of the filter: the workspace, what may be read beside it, the register of used permits, the
// terminal for ask_user, and the private homes of commands. It has no network and starts nothing: the broker does,
// which is started before.
func access(cfg *config.Config, homes string) confine.Access {
	cfg.MakeRules()
	_ = os.MkdirAll(cfg.GatesDir(), 0o700) // a gate may be accepted, or taken back, while we run
	a := confine.Access{
		Read:  append([]string{cfg.PermitPubPath(), cfg.GatesDir(), cfg.RulesPath()}, cfg.Readable()...),
		Write: []string{cfg.WorkspaceDir, homes, cfg.ResultsDir()},
		Own:   []string{cfg.PermitsUsedPath(), cfg.UnderWayPath()},
		List:  []string{cfg.Home},
		// for ask_user
		Terminal: terminal.Device(),
	}
	if !cfg.Security.WorkspaceOnly { // then tools may reach what the policy permits, wherever that is
		a.Write = append(a.Write, "/")
	}
	return a
}

// making is for the command that makes the key of seals. The filter has read its key before it confines itself, and has
// no right to the file from then on.
func making(_ *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	dirs := []string{cfg.SealKeyDir(), cfg.ExecutorsDir()}
	for _, dir := range dirs {
		_ = os.MkdirAll(dir, 0o700) // what cannot be made is reported when the key is
	}
	return confine.Access{Write: dirs}
}

// looking is for the commands that show tools.
func looking(_ *command.Call, cfg *config.Config) confine.Access { return confine.Access{} }

// fetching is for the child that reads the web: it has the network, and what it takes to resolve names and to check
// certificates.
func fetching(c *command.Call, _ *config.Config) confine.Access {
	a := confine.Access{Network: true, Connect: []uint16{53, 80, 443},
		Read: []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols",
			"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates",
			"/usr/local/share/ca-certificates", "/usr/lib/ssl", "/etc/gai.conf",
			"/run/systemd/resolve", "/run/resolvconf"}}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		a.Read = append(a.Read, real)
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v := c.Getenv(name); v != "" {
			a.Read = append(a.Read, filepath.SplitList(v)...)
		}
	}
	return a
}
