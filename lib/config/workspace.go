package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"clawsh/lib/envelope"
	"clawsh/lib/place"
)

// Where a workspace's directory was named.
const (
	FromFlag        = "flag"        // -C DIR
	FromEnvironment = "environment" // CLAWSH_WORKSPACE
	FromHere        = "here"        // workspace = "here": where clawsh was started
	FromConfig      = "config"      // workspace_dir
)

// Modes of the key workspace.
const (
	modeFixed = "fixed"
	modeHere  = "here"
)

// Variables by which the driver hands the workspace in force to its stages: its path, and which directory that was.
const (
	EnvWorkspace     = "CLAWSH_WORKSPACE"
	EnvWorkspaceID   = "CLAWSH_WORKSPACE_ID"
	EnvWorkspaceFrom = "CLAWSH_WORKSPACE_FROM" // for people only: no decision depends on it
)

// Workspace is the directory in force and why it is that one. Config.WorkspaceDir is its path, and empty if Err is set.
type Workspace struct {
	Dir     string // absolute, as it was named
	Real    string // without links; empty if it does not exist
	ID      string // device and inode: a directory that takes its place is another one
	From    string // FromFlag, FromEnvironment, FromHere or FromConfig
	Mode    string // the key workspace
	Fixed   string // the key workspace_dir
	Trusted string // of FromHere: since when
	// Err says why there is no workspace; then nothing that needs one may run.
	Err error
}

// ErrUntrusted is in the chain of a Workspace.Err that a person can fix by trusting the directory.
var ErrUntrusted = errors.New("the directory is not trusted yet")

// errNoWorkspace is the Err of programs that have said that they need no workspace.
var errNoWorkspace = errors.New("this program works without a workspace")

// places finds the workspace and the read roots in force.
func (p Paths) places(c *Config, mode string) {
	if p.NoWorkspace {
		c.Workspace, c.WorkspaceDir = Workspace{Mode: mode, Fixed: c.WorkspaceDir, Err: errNoWorkspace}, ""
		return
	}
	p.looks = looks{}
	c.Workspace = p.workspace(c, mode)
	if c.WorkspaceDir = c.Workspace.Dir; c.Workspace.Err != nil {
		c.WorkspaceDir = ""
	}
	p.findReadRoots(c)
}

// workspace finds the workspace in force. What is wrong with the directory is left to those who need one: receipts can
// be verified anywhere.
func (p Paths) workspace(c *Config, mode string) Workspace {
	w := Workspace{Mode: mode, Fixed: c.WorkspaceDir, Dir: c.WorkspaceDir, From: FromConfig}
	switch env := p.getenv(EnvWorkspace); {
	case p.Workspace != "":
		w.From, w.Dir = FromFlag, p.Workspace
	case env != "":
		w.From, w.Dir = FromEnvironment, env
	case mode == modeHere:
		w.From, w.Dir = FromHere, "."
	}
	var info fs.FileInfo
	if info, w.Err = w.find(); w.Err == nil && info != nil {
		w.ID = place.Identity(info)
		w.Err = p.admit(c, &w, info)
	}
	if w.Err == nil && info != nil && w.From == FromHere {
		w.Err = p.here(c, &w)
	}
	switch id := p.getenv(EnvWorkspaceID); {
	case w.Err != nil || w.From != FromEnvironment || id == "":
	case id == w.ID:
		w.toldBy(p.getenv(EnvWorkspaceFrom))
	default:
		w.Err = envelope.Errorf(envelope.ExitDenied, "workspace.changed",
			"another directory has replaced the workspace %s since the turn began", w.Dir)
	}
	return w
}

// toldBy takes from the driver why the workspace is the one that it is.
func (w *Workspace) toldBy(from string) {
	from, since, _ := strings.Cut(from, " ")
	if slices.Contains([]string{FromFlag, FromEnvironment, FromHere, FromConfig}, from) {
		w.From, w.Trusted = from, since
	}
}

// find follows the path that was named. A fixed workspace may be missing: init makes it.
func (w *Workspace) find() (fs.FileInfo, error) {
	named := w.Dir
	if !filepath.IsAbs(named) {
		if w.From == FromEnvironment {
			return nil, w.failure("invalid", "%s %s: want an absolute path", EnvWorkspace, quote("", named)).
				WithHint("for a directory relative to this one: -C DIR")
		}
		at, err := os.Getwd()
		if err != nil {
			return nil, w.failure("missing", "find the directory in which clawsh was started: %w", err)
		}
		named = at + "/" + named // not cleaned yet: x/.. is not here if x is a link
	}
	w.Dir = filepath.Clean(named)
	if strings.ContainsRune(named, 0) {
		return nil, w.failure("invalid", "the path of the workspace contains a NUL")
	}
	real, err := filepath.EvalSymlinks(named)
	if errors.Is(err, fs.ErrNotExist) && w.From == FromConfig {
		return nil, nil
	}
	if err != nil {
		return nil, w.failure("missing", "the workspace %s cannot be used: %w", quote("", w.Dir), reason(err))
	}
	if !utf8.ValidString(real) || strings.ContainsFunc(real, unicode.IsControl) {
		return nil, w.failure("invalid", "the workspace %s cannot be used: its path contains unprintable bytes",
			quote("", real))
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		if w.From == FromConfig {
			return nil, nil // who needs it says so
		}
		err = errors.New("it is not a directory")
	}
	if err != nil {
		return nil, w.failure("missing", "the workspace %s cannot be used: %w", quote("", w.Dir), reason(err))
	}
	again := real
	if w.Dir != named { // cleaning has changed it, and maybe where it leads
		again, err = filepath.EvalSymlinks(w.Dir)
	}
	if err != nil || again != real || w.From == FromHere {
		w.Dir = real
	}
	w.Real = real
	return info, nil
}

// failure is an error about the workspace: of the command line if that named it, else of the configuration.
func (w *Workspace) failure(code, format string, args ...any) *envelope.Error {
	exit := envelope.ExitConfig
	if w.From == FromFlag {
		exit = envelope.ExitUsage
	}
	return envelope.Errorf(exit, "workspace."+code, format, args...)
}

func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// admit refuses a workspace in which tools would own what is not theirs. Directories are compared by what they are and
// not only by their names, which links and bind mounts give them several of.
func (p Paths) admit(c *Config, w *Workspace, info fs.FileInfo) error {
	if why := p.unfit(c, w.Real, info); why != "" {
		hint := "choose a separate directory for the agent: clawsh -C DIR …"
		if w.From == FromHere {
			hint = "cd to the directory of a project, or name one: clawsh -C DIR …"
		}
		return w.failure("refused", "%s cannot be the workspace: %s", quote("", w.Dir), why).WithHint("%s", hint)
	}
	return nil
}

// unfit says why a directory cannot be a workspace, "" if it can.
func (p Paths) unfit(c *Config, real string, info fs.FileInfo) string {
	if real == "/" {
		return "it is the whole file system"
	}
	home, usual := p.getenv("HOME"), ""
	if home != "" {
		usual = filepath.Join(home, ".clawsh")
	}
	for _, held := range []struct{ what, path string }{{"your home directory", home}, {"clawsh's home", c.Home},
		{"clawsh's home", usual},
		{"clawsh's configuration", c.File}, {"clawsh's memory", c.Memory.Path}, {"the receipts", c.Receipts.Path}} {
		if held.path != "" && (held.path == c.Home || !place.Within(c.Home, held.path)) &&
			p.looks.holds(info, held.path) {
			return "it is or contains " + held.what
		}
	}
	var above []fs.FileInfo
	for dir := range upwards(real) {
		at, err := p.looks.stat(dir)
		if err != nil {
			return "the directories above it cannot be examined"
		}
		if _, err := p.looks.lstat(filepath.Join(dir, "keys", "permit.key")); err == nil {
			return "it is in a clawsh home"
		}
		above = append(above, at)
	}
	for _, f := range append([]string{c.Home, usual}, c.Security.ForbiddenPaths...) {
		if at, err := p.looks.stat(f); err == nil && among(above, at) {
			return "it is below the forbidden path " + f
		}
	}
	return ""
}

func among(dirs []fs.FileInfo, dir fs.FileInfo) bool {
	return slices.ContainsFunc(dirs, func(d fs.FileInfo) bool { return os.SameFile(d, dir) })
}

// here turns the directory in which clawsh was started into its repository's root, and asks whether it is trusted. A
// directory on the way there that was trusted by itself is nearer.
func (p Paths) here(c *Config, w *Workspace) error {
	t, err := ReadTrust(c.Home)
	if err != nil {
		return err
	}
	started := w.Real
	if root, info := p.repository(c, started, owner); root != "" {
		w.Dir, w.Real, w.ID = root, root, place.Identity(info)
	}
	for dir := range upwards(started) {
		info, err := os.Stat(dir)
		if err != nil {
			break
		}
		if w.Trusted, _ = t.of(dir, place.Identity(info)); w.Trusted != "" {
			w.Dir, w.Real, w.ID = dir, dir, place.Identity(info)
			return nil
		}
		if dir == w.Real {
			break
		}
	}
	code, what := "untrusted", ""
	if _, replaced := t.of(w.Real, w.ID); replaced {
		code, what = "changed", " is not the directory that you trusted"
	}
	return envelope.Errorf(envelope.ExitDenied, "workspace."+code, "%s%s: %w", quote("", w.Real), what, ErrUntrusted).
		WithHint("to trust it, run: clawsh workspace trust %s", shellQuote(w.Real))
}

// repository is the nearest directory from dir upwards that holds .git and could be a workspace. One above dir counts
// only if it and its .git belong to dir's owner: anybody can make a /tmp/.git.
func (p Paths) repository(c *Config, dir string, owner func(fs.FileInfo) int) (string, fs.FileInfo) {
	start, err := os.Stat(dir)
	if err != nil {
		return "", nil
	}
	for at := range upwards(dir) {
		info, err := os.Stat(at)
		if err != nil || owner(info) != owner(start) || p.unfit(c, at, info) != "" {
			return "", nil
		}
		if git, err := os.Lstat(filepath.Join(at, ".git")); err == nil && owner(git) == owner(start) {
			return at, info
		}
	}
	return "", nil
}

// shellQuote makes a path a word of a command line, for hints.
func shellQuote(path string) string {
	plain := strings.IndexFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%", r) &&
			!('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}) < 0
	if plain {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// Admit switches to a workspace that a person has just trusted, if it is still the same directory.
func (c *Config) Admit() error {
	info, err := os.Stat(c.Workspace.Real)
	if err != nil || place.Identity(info) != c.Workspace.ID || c.Workspace.ID == "" ||
		!errors.Is(c.Workspace.Err, ErrUntrusted) {
		return envelope.Errorf(envelope.ExitDenied, "workspace.changed",
			"another directory replaced the workspace %s during the question", quote("", c.Workspace.Dir))
	}
	c.Workspace.Err, c.WorkspaceDir = nil, c.Workspace.Dir
	return nil
}

// CheckWorkspace says why there is no workspace to work in; a directory that init would make counts as one.
func (c *Config) CheckWorkspace() error { return c.Workspace.Err }

// WorkspaceEnv are the variables by which stages are told the workspace in force. Where there is none they are told
// what was named, and come to the same end.
func (c *Config) WorkspaceEnv() []string {
	w := c.Workspace
	switch {
	case w.Err == nil && w.ID != "":
		return []string{EnvWorkspace + "=" + w.Dir, EnvWorkspaceID + "=" + w.ID, EnvWorkspaceFrom + "=" +
			strings.TrimSpace(w.From+" "+w.Trusted)}
	case w.From == FromFlag || w.From == FromEnvironment:
		return []string{EnvWorkspace + "=" + w.Dir}
	}
	return nil
}

// SameWorkspace reports whether an opened directory is the current workspace. If the workspace did not exist when the
// configuration was read, any directory passes.
func (c *Config) SameWorkspace(info fs.FileInfo) bool {
	return c.Workspace.ID == "" || place.Identity(info) == c.Workspace.ID
}

// WorkspaceMark is what the directory of the workspace in force is known by (Mark), "" if that cannot be told.
func (c *Config) WorkspaceMark() string {
	id, path := c.Workspace.ID, c.Workspace.Real
	if path == "" {
		path = c.WorkspaceDir
	}
	if info, err := os.Stat(path); id == "" && err == nil {
		id = place.Identity(info)
	}
	if id == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return Mark(path, id)
}
