package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"clawsh/lib/envelope"
)

// Paths says where clawsh's home and its configuration file are. Explicit is set if the file was named by a flag or by
// CLAWSH_CONFIG: then it must exist.
type Paths struct {
	Home, File string
	Explicit   bool
	// Workspace is the directory that the command line names (-C), "" if it names none.
	Workspace string
	// NoWorkspace is set by programs that have no use for one: then it is not looked for.
	NoWorkspace bool
	getenv      func(string) string
	looks       looks
}

// Locate finds home and file: the home is $CLAWSH_HOME or ~/.clawsh; the file is the flag's, $CLAWSH_CONFIG or
// config.toml in the home.
func Locate(flag string, getenv func(string) string) (Paths, error) {
	p := Paths{Home: getenv("CLAWSH_HOME"), File: flag, getenv: getenv}
	if err := checkVariables(getenv); err != nil {
		return p, err
	}
	if p.Home == "" {
		p.Home = filepath.Join(getenv("HOME"), ".clawsh")
	}
	if p.File == "" {
		p.File = getenv("CLAWSH_CONFIG")
	}
	p.Explicit = p.File != ""
	if !p.Explicit {
		p.File = filepath.Join(p.Home, "config.toml")
	}
	var err error
	if p.Home, err = filepath.Abs(p.Home); err != nil {
		return p, fmt.Errorf("locate clawsh's home: %w", err)
	}
	if p.File, err = filepath.Abs(p.File); err != nil {
		return p, fmt.Errorf("locate the configuration: %w", err)
	}
	return p, nil
}

// checkVariables refuses what no path can be made of. HOME is needed even where CLAWSH_HOME is set: without it nobody
// knows which files are the user's secrets.
func checkVariables(getenv func(string) string) error {
	if getenv("HOME") == "" {
		return envelope.Errorf(envelope.ExitConfig, "config.home", "HOME is not set, so clawsh cannot find your files").
			WithHint("set HOME to your home directory: export HOME=/home/NAME")
	}
	for _, name := range []string{"HOME", "CLAWSH_HOME", "CLAWSH_CONFIG"} {
		if bad := unprintable(getenv(name)); bad != "" {
			return envelope.Errorf(envelope.ExitConfig, "config.home",
				"the path in %s contains %s, which the policy does not accept", name, bad).
				WithHint("set %s to a directory whose name has only printable characters", name)
		}
	}
	if !filepath.IsAbs(getenv("HOME")) {
		return envelope.Errorf(envelope.ExitConfig, "config.home", "HOME is not an absolute path").
			WithHint("set HOME to your home directory: export HOME=/home/NAME")
	}
	return nil
}

// unprintable names the first character of a path that cannot be shown, "" if there is none.
func unprintable(path string) string {
	for _, r := range path {
		switch {
		case r == '\n':
			return "a newline"
		case r == utf8.RuneError:
			return "bytes that are not UTF-8"
		case !unicode.IsGraphic(r):
			return fmt.Sprintf("the character U+%04X", r)
		}
	}
	return ""
}

// variablesOf are the environment variables that a path names, but for those that every program of ours gets.
func variablesOf(path string) []string {
	var names []string
	os.Expand(path, func(name string) string {
		if name != "CLAWSH_HOME" && name != "HOME" && isVariable(name) {
			names = append(names, name)
		}
		return ""
	})
	return names
}

// PathEnv returns the names of the environment variables that paths of the configuration name: other programs of ours
// need them to read it. A provider's key is none of them.
func PathEnv(c *Config, err error) []string {
	var names, keys []string
	var problems *Problems
	switch {
	case c != nil:
		names, keys = c.variables, c.SecretEnv()
	case errors.As(err, &problems):
		names = problems.variables
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(keys, n) })
	slices.Sort(names)
	return slices.Compact(names)
}

// HomeEnv are the variables by which another program of ours finds this configuration, in whatever directory it runs.
func (c *Config) HomeEnv() []string {
	env := []string{"CLAWSH_HOME=" + c.Home}
	if c.Found() {
		env = append(env, "CLAWSH_CONFIG="+c.File)
	}
	return env
}

// expand resolves ~ and variables in a path and makes it absolute, relative to the home directory of the user never to
// the working directory: what a policy means must not depend on where it is read.
func (p Paths) expand(path string) (string, error) {
	var missing string
	out := os.Expand(path, func(name string) string {
		if name == "CLAWSH_HOME" {
			return p.Home
		}
		v := p.getenv(name)
		if v == "" && missing == "" {
			missing = name
		}
		return v
	})
	if missing != "" {
		return "", fmt.Errorf("the variable $%s is not set", missing)
	}
	if out == "~" || strings.HasPrefix(out, "~/") {
		if p.getenv("HOME") == "" {
			return "", errors.New("HOME is not set")
		}
		out = filepath.Join(p.getenv("HOME"), out[1:])
	}
	if strings.HasPrefix(out, "~") {
		return "", errors.New("only ~ and ~/… are supported, not ~USER")
	}
	if bad := unprintable(out); bad != "" {
		return "", fmt.Errorf("it contains %s", bad)
	}
	if !filepath.IsAbs(out) {
		return "", errors.New("want an absolute path, or one that starts with ~/ or a variable")
	}
	return filepath.Clean(out), nil
}

// Estop reports whether the emergency stop is on, and why: the file ESTOP exists in the home, or the home cannot be
// examined.
func Estop(home string) (engaged bool, why string) {
	path := filepath.Join(home, "ESTOP")
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return true, path + " exists (clawsh estop --clear removes it)"
	case errors.Is(err, fs.ErrNotExist):
		return false, ""
	}
	return true, fmt.Sprintf("%s cannot be examined: %v", path, err)
}

// EstopLogPath is the log of when the emergency stop was turned on and off.
func EstopLogPath(home string) string { return filepath.Join(home, "estop.jsonl") }

// TurnsDir is the directory of the locks that give a conversation one turn at a time.
func (c *Config) TurnsDir() string { return filepath.Join(c.Home, "turns") }

// AgentDir is the directory of an agent. An id is lower-case letters, digits, _ and -.
func (c *Config) AgentDir(id string) (string, error) {
	if !isAgent(id) {
		return "", errors.New("want lower-case letters, digits, _ and -")
	}
	return filepath.Join(c.Home, "agents", id), nil
}
