package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
)

// dnsPort is where names are resolved by TCP, when an answer does not fit a datagram.
const dnsPort = 53

// resolving are the files by which names are resolved and servers' certificates are checked, on the systems that there
// are.
var resolving = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols",
	"/etc/ssl", "/etc/pki", "/etc/ca-certificates",
	"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/usr/lib/ssl", "/etc/gai.conf",
	"/run/systemd/resolve", "/run/resolvconf"}

// access is the row of all commands: the providers' ports, and what it takes to reach them. It writes nothing and
// starts nothing. The keys are in its environment.
func access(c *command.Call, cfg *config.Config) confine.Access {
	if cfg == nil {
		return confine.Access{}
	}
	a := confine.Access{Network: true, Connect: []uint16{dnsPort}, Read: resolving}
	if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		a.Read = append(a.Read, real)
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v := c.Getenv(name); v != "" {
			a.Read = append(a.Read, filepath.SplitList(v)...)
		}
	}
	dir, _ := os.Getwd()
	for _, p := range cfg.Providers {
		if p.Fixture != "" {
			a.Read = append(a.Read, absolute(dir, p.Fixture), absolute(filepath.Dir(cfg.File), p.Fixture))
		}
		if port := portOf(p.BaseURL); port != 0 {
			a.Connect = append(a.Connect, port)
		}
	}
	return a
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// portOf is the port of a server's address, 0 if it has none.
func portOf(address string) uint16 {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return 0
	}
	switch port := u.Port(); {
	case port != "":
		n, _ := strconv.ParseUint(port, 10, 16)
		return uint16(n)
	case u.Scheme == "https":
		return 443
	}
	return 80
}
