package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/place"
)

// ReadRoot is a directory of security.read_roots: tools may read, but not change, what is below it.
type ReadRoot struct {
	Path string `json:"path"`
	Why  string `json:"why,omitzero"` // it is not in force
}

// secretNames are names in a home directory with keys, passwords and browser data: no read root shows them.
var secretNames = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".my.cnf",
	".git-credentials", ".npmrc", ".pypirc",
	".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/google-chrome",
	".config/chromium", ".config/BraveSoftware",
	".mozilla", ".password-store", ".local/share/keyrings", ".vault-token", ".terraform.d", ".cargo/credentials.toml",
	".clawsh",
	".bash_history", ".zsh_history", ".python_history", ".psql_history"}

// SecretPaths returns the places in a home directory with keys, passwords and browser data.
func SecretPaths(home string) []string {
	var out []string
	for _, n := range secretNames {
		out = append(out, filepath.Join(home, n))
	}
	return out
}

// sandboxOwn are places that programs in the sandbox have for themselves: nothing of the system can be shown over them.
var sandboxOwn = []string{"/tmp", "/var/tmp", "/run/home"}

// readRoots refuses roots below which everything would be readable, or nothing is a plain file.
func (v *validator) readRoots(c *Config) {
	home := v.paths.getenv("HOME")
	for i, p := range c.Security.ReadRoots {
		root := v.path("security.read_roots", p)
		c.Security.ReadRoots[i] = root
		switch {
		case root == "":
		case root == "/" || home != "" && place.Within(root, filepath.Clean(home)):
			v.problem("security.read_roots", "%s: is or contains your home directory; want a directory below it",
				quote("", p))
		case place.Within(root, c.Home) || place.Within(c.Home, root):
			v.problem("security.read_roots", "%s: it and clawsh's home %s must not contain each other", quote("", p),
				c.Home)
		case place.Within("/dev", root) || place.Within("/proc", root) || place.Within("/sys", root):
			v.problem("security.read_roots", "%s: contains devices and system state, not files", quote("", p))
		case slices.ContainsFunc(sandboxOwn, func(own string) bool { return place.Within(root, own) }):
			v.problem("security.read_roots",
				"%s: programs have their own temporary directories there; want another directory, such as /var/log",
				quote("", p))
		}
	}
}

// findReadRoots tells which read roots are in force. What a name leads to by links is not read: who may write there
// could change where it leads.
func (p Paths) findReadRoots(c *Config) {
	c.ReadRoots = nil
	for _, root := range c.Security.ReadRoots {
		c.ReadRoots = append(c.ReadRoots, ReadRoot{root, p.unreadable(c, root)})
	}
	if home := p.getenv("HOME"); home != "" && len(c.ReadRoots) > 0 {
		c.Secrets = SecretPaths(home)
	}
}

func (p Paths) unreadable(c *Config, root string) string {
	info, err := os.Lstat(root)
	real, linkErr := filepath.EvalSymlinks(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such directory"
	case err != nil:
		return reason(err).Error()
	case linkErr != nil:
		return reason(linkErr).Error()
	case real != root:
		return "it is a link to " + real + ": name that"
	case !info.IsDir():
		return "it is not a directory"
	case c.Workspace.Err == nil && c.Workspace.Dir != "" &&
		(place.Within(c.Workspace.Dir, root) || place.Within(c.Workspace.Real, root)):
		return "it is in the workspace"
	}
	for _, held := range []string{p.getenv("HOME"), c.Home, c.File, c.Memory.Path, c.Receipts.Path} {
		if held != "" && p.looks.holds(info, held) {
			return "it is or contains something that must not be read: " + held
		}
	}
	for dir := range upwards(root) {
		if at, err := p.looks.stat(dir); err != nil || p.own(c, at, dir) {
			return "it is in a clawsh home"
		}
	}
	return ""
}

// own tells whether a directory is a home of clawsh's.
func (p Paths) own(c *Config, info fs.FileInfo, dir string) bool {
	if _, err := p.looks.lstat(filepath.Join(dir, "keys", "permit.key")); err == nil {
		return true
	}
	at, err := p.looks.stat(c.Home)
	return err == nil && os.SameFile(at, info)
}

// Readable returns the read roots in force.
func (c *Config) Readable() []string {
	var out []string
	for _, r := range c.ReadRoots {
		if r.Why == "" {
			out = append(out, r.Path)
		}
	}
	return out
}

// ReadRootOf is the read root that an absolute path lies in, by its name; "" if it is in none.
func (c *Config) ReadRootOf(path string) string {
	if !strings.HasPrefix(path, "/") {
		return ""
	}
	for _, r := range c.Readable() {
		if place.Within(r, filepath.Clean(path)) {
			return r
		}
	}
	return ""
}
