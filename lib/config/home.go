package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"clawsh/lib/envelope"
)

// Fault is something in clawsh's home, or above it, that others could have written or read.
type Fault struct {
	Path string
	// What is wrong with it.
	What string
	// Hint is the command, or the sentence, that says how to mend it.
	Hint   string
	code   string
	target *target // what to mend, nil if that is not for clawsh to do
}

func (f Fault) String() string { return f.Path + " " + f.What }

// Permissions that an entry must not have.
const (
	notWritable fs.FileMode = 0o022
	notReadable fs.FileMode = 0o077
)

// entry is what must hold for a name in the home, if it is there.
type entry struct {
	name      string // below the home; a last * stands for each name there
	dir       bool
	forbidden fs.FileMode
	linked    bool // it may be a link: then the same holds for what it leads to
}

// entries are the parts of the home. ESTOP is none of them: whatever has that name is a stop. What lies in a directory
// of a row is of the same owner, since nobody else can write there.
var entries = []entry{
	{name: "config.toml", forbidden: notWritable, linked: true},
	{name: "rules.toml", forbidden: notWritable},
	{name: "workspaces.toml", forbidden: notWritable},
	{name: "workspaces.lock", forbidden: notWritable},
	{name: "keys", dir: true, forbidden: notReadable},
	{name: "keys/permit.key", forbidden: notReadable},
	{name: "keys/permit.pub", forbidden: notWritable},
	{name: "keys/exec", dir: true, forbidden: notReadable},
	{name: "keys/exec/seal.key", forbidden: notReadable},
	{name: "keys/gates", dir: true, forbidden: notWritable},
	{name: "keys/executors", dir: true, forbidden: notWritable},
	{name: "keys/receipt", dir: true, forbidden: notReadable},
	{name: "keys/receipt/receipt.key", forbidden: notReadable},
	{name: "keys/receipt/receipt.pub", forbidden: notWritable},
	{name: "keys/executors/*", forbidden: notWritable},
	{name: "keys/gates/*", forbidden: notWritable},
	{name: "audit.jsonl", forbidden: notWritable},
	{name: "permits.used", forbidden: notWritable},
	{name: "under-way.lock", forbidden: notWritable},
	{name: "estop.jsonl", forbidden: notWritable},
	{name: "history", forbidden: notWritable},
	{name: "tools.json", forbidden: notWritable},
	{name: "results", dir: true, forbidden: notWritable},
	{name: "cache", dir: true, forbidden: notWritable},
	{name: "turns", dir: true, forbidden: notWritable},
	{name: "skills", dir: true, forbidden: notWritable},
	{name: "plugins", dir: true, forbidden: notWritable},
	{name: "agents", dir: true, forbidden: notWritable},
}

// ofAgent are the parts of an agent's directory.
var ofAgent = []entry{
	{name: "", dir: true, forbidden: notWritable},
	{name: "soul.md", forbidden: notWritable, linked: true},
	{name: "sessions", dir: true, forbidden: notWritable},
	{name: "agent.jsonl", forbidden: notWritable},
}

// ofMemory and ofReceipts are what lies at the paths of the configuration.
var (
	ofMemory = []entry{{name: "", forbidden: notWritable}, {name: "-wal", forbidden: notWritable},
		{name: "-shm", forbidden: notWritable}}
	ofReceipts = []entry{{name: "", forbidden: notWritable}, {name: ".d", dir: true, forbidden: notWritable},
		{name: ".d/head", forbidden: notWritable}, {name: ".d/tiles", dir: true, forbidden: notWritable}}
)

// Inspect finds what is wrong with the owners, kinds and modes of clawsh's home, of the configuration, and of the
// directories above them. It only looks at some forty names, in a tenth of a millisecond. Where c is nil, the memory
// and the receipts are at their usual places.
func Inspect(p Paths, c *Config) []Fault {
	g := &guard{euid: os.Geteuid(), seen: map[string]bool{}}
	if p.Explicit {
		g.named(p.File)
	}
	g.home = p.Home
	if !g.top(p.Home) {
		return g.faults
	}
	for _, e := range entries {
		if dir, each := strings.CutSuffix(e.name, "/*"); each {
			g.each(filepath.Join(p.Home, dir), e)
			continue
		}
		g.one(filepath.Join(p.Home, e.name), e)
	}
	g.agents(filepath.Join(p.Home, "agents"))
	memory, receipts := filepath.Join(p.Home, "memory.sqlite"), filepath.Join(p.Home, ReceiptsName)
	if c != nil {
		memory, receipts = c.Memory.Path, c.Receipts.Path
		g.wayTo(memory)
		g.wayTo(receipts)
	}
	for _, e := range ofMemory {
		g.one(memory+e.name, e)
	}
	for _, e := range ofReceipts {
		g.one(receipts+e.name, e)
	}
	return g.faults
}

// CheckHome returns an error for a home that others could have changed: anyone who can replace the policy decides
// everything.
func CheckHome(p Paths, c *Config) error {
	faults := Inspect(p, c)
	if len(faults) == 0 {
		return nil
	}
	more := ""
	if n := len(faults) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return envelope.Errorf(envelope.ExitConfig, faults[0].code,
		"%s; clawsh does not use files that others could have changed or read%s", faults[0], more).
		WithHint("%s; clawsh doctor shows and repairs everything that is wrong", faults[0].Hint)
}

// guard is one inspection.
type guard struct {
	euid   int
	home   string
	root   fs.FileInfo     // the home, as it is
	seen   map[string]bool // what was looked at, so that it is told once
	faults []Fault
}

func (g *guard) fault(path, code, hint, what string, args ...any) {
	g.faults = append(g.faults, Fault{Path: path, What: fmt.Sprintf(what, args...), Hint: hint, code: code})
}

// modes is fault, for permissions that others should not have.
func (g *guard) modes(path, code, how string, info fs.FileInfo, forbidden fs.FileMode, what string) {
	if owner(info) != g.euid {
		how = "sudo " + how
	}
	g.fault(path, code, shown(how, path), what, info.Mode().Perm())
	g.faults[len(g.faults)-1].target = g.newTarget(path, info, forbidden)
}

const insecure = "home.insecure"

// top looks at the home itself, and tells whether there is one.
func (g *guard) top(home string) bool {
	info, err := os.Stat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		g.fault(home, insecure, "make it readable to you", "cannot be examined: %v", reason(err))
		return false
	}
	g.root = info
	g.wayTo(home)
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return g.judge(home, info, entry{dir: true, forbidden: notWritable})
}

// one looks at an entry, if it is there.
func (g *guard) one(path string, e entry) {
	if path = filepath.Clean(path); g.seen[path] {
		return
	}
	g.seen[path] = true
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return // what cannot be reached is not used either
	}
	if err != nil {
		g.fault(path, insecure, "inspect it, and move it away", "cannot be examined: %v", reason(err))
		return
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		g.judge(path, info, e)
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if !e.linked || err != nil {
		g.fault(path, insecure, "replace it with the file or directory that it points to", "is a symbolic link")
		return
	}
	if g.owned(path, info) {
		g.named(real)
	}
}

// named looks at a file that lies anywhere: the file, and the way to it.
func (g *guard) named(path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // <(…) is a pipe of the caller's
		return
	}
	g.wayTo(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	g.judge(path, info, entry{forbidden: notWritable})
}

// judge compares an entry with what must hold for it, and tells whether it is of the right kind.
func (g *guard) judge(path string, info fs.FileInfo, e entry) bool {
	if e.dir != info.IsDir() || !e.dir && !info.Mode().IsRegular() {
		kind := "a regular file"
		if e.dir {
			kind = "a directory"
		}
		g.fault(path, insecure, "move it away: "+shown("mv", path, path+".old"), "is not %s", kind)
		return false
	}
	mode := info.Mode().Perm()
	if !g.owned(path, info) || mode&e.forbidden == 0 {
		return true
	}
	what, how, code := "is writable by others", "chmod go-w", insecure
	switch {
	case e.forbidden == notReadable && mode&notWritable == 0:
		what, how = "is readable by others", "chmod go="
	case e.forbidden == notReadable:
		what, how = "is readable and writable by others", "chmod go="
	case filepath.Ext(path) == ".toml":
		code = "config.writable"
	}
	g.modes(path, code, how, info, e.forbidden, what+" (mode %04o)")
	return true
}

// owned tells whether an entry is ours, or root's, who can do everything anyway.
func (g *guard) owned(path string, info fs.FileInfo) bool {
	uid := owner(info)
	if uid == g.euid || uid == 0 {
		return true
	}
	g.fault(path, insecure, "make it yours: "+shown(fmt.Sprintf("sudo chown %d", g.euid), path),
		"belongs to user %d, not to you", uid)
	return false
}

// each looks at everything in a directory: there are few.
func (g *guard) each(dir string, e entry) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range names {
		g.one(filepath.Join(dir, d.Name()), e)
	}
}

// agents looks at what says who an agent is.
func (g *guard) agents(dir string) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range names {
		if !isAgent(d.Name()) {
			continue
		}
		for _, e := range ofAgent {
			g.one(filepath.Join(dir, d.Name(), e.name), e)
		}
	}
}

// wayTo looks at every directory above a path, the topmost first: who can rename one of them can put another in its
// place. One that others may write to needs the sticky bit, as /tmp has it; then what lies there is only its owner's to
// rename.
func (g *guard) wayTo(path string) {
	dir := filepath.Dir(path)
	if g.seen["way "+dir] {
		return
	}
	g.seen["way "+dir] = true
	g.wayTo(dir)
	info, err := os.Lstat(dir)
	if err != nil {
		return
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(dir); err == nil && g.ownedAbove(dir, info) {
			g.wayTo(filepath.Join(real, "x"))
		}
		return
	}
	mode := info.Mode()
	if g.ownedAbove(dir, info) && mode.Perm()&notWritable != 0 && mode&fs.ModeSticky == 0 {
		g.modes(dir, insecure, "chmod go-w", info, notWritable,
			"is writable by others (mode %04o), and is above files that clawsh uses")
	}
}

// ownedAbove is owned, for a directory above: in a user namespace, whoever owns what lies outside has no number.
func (g *guard) ownedAbove(dir string, info fs.FileInfo) bool {
	if uid := owner(info); uid == overflowUser && unmapped() {
		return true
	}
	return g.owned(dir, info)
}

// overflowUser is the owner of what belongs to nobody in this user namespace.
const overflowUser = 65534

// unmapped tells whether this is a user namespace in which some users have no number.
func unmapped() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !slices.Equal(strings.Fields(string(b)), []string{"0", "0", "4294967295"})
}

// shown is a command to be typed.
func shown(words string, paths ...string) string {
	for _, p := range paths {
		if strings.Trim(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%,:") != "" {
			p = "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
		}
		words += " " + p
	}
	return words
}
