package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/place"
)

// Stat implements looking at a file, through links.
func (OS) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// statter is what a Resolver may do besides.
type statter interface {
	Stat(path string) (fs.FileInfo, error)
}

// forbids tells whether a name is that of a forbidden command.
func (p *Policy) forbids(name string) bool {
	return slices.ContainsFunc(p.never, func(n string) bool { return strings.EqualFold(n, name) })
}

// alias is the forbidden command that a program is, which is given by a path: under its own name, by a link, as a hard
// link or as a copy; "" if it is none. A copy is told by its size, since the gate may read no program; chance makes
// none.
func (p *Policy) alias(word string, dirs []string) string {
	if !strings.Contains(word, "/") {
		return ""
	}
	files, ok := p.fs.(statter)
	if !ok {
		return ""
	}
	for _, dir := range dirs {
		path := word
		if !filepath.IsAbs(path) {
			path = dir + "/" + path
		}
		real, err := p.fs.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if name := filepath.Base(real); p.forbids(name) {
			return name
		}
		info, err := files.Stat(real)
		if err != nil || !info.Mode().IsRegular() || slices.Contains(systemPrograms, filepath.Dir(real)+"/") {
			continue
		}
		if i := slices.IndexFunc(p.originals(), func(o original) bool {
			return os.SameFile(o.info, info) ||
				o.info.Size() == info.Size()
		}); i >= 0 {
			return p.originals()[i].name
		}
	}
	return ""
}

// original is the file of a forbidden command.
type original struct {
	name string
	info fs.FileInfo
}

// findOriginals finds the files of the forbidden commands. Those that are many programs in one are told by their names
// alone.
func (p *Policy) findOriginals() []original {
	files, ok := p.fs.(statter)
	if !ok {
		return nil
	}
	common, _ := files.Stat("/bin/cat")
	var out []original
	for _, name := range p.never {
		for _, dir := range systemPrograms {
			real, err := p.fs.EvalSymlinks(dir + name)
			if err != nil || filepath.Base(real) != name {
				continue
			}
			if info, err := files.Stat(real); err == nil && info.Mode().IsRegular() &&
				!(common != nil && os.SameFile(common, info)) {
				out = append(out, original{name, info})
			}
		}
	}
	return out
}

// stops tells whether a command stops the machine, by one of the names that this has.
func stops(name string, args []string) bool {
	words := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") })
	has := func(names ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, strings.ToLower(w)) })
	}
	switch name {
	case "shutdown", "reboot", "halt", "poweroff", "openrc-shutdown", "s6-linux-init-hpr", "s6-linux-init-shutdown",
		"pm-suspend", "pm-hibernate":
		return true
	case "systemctl", "loginctl":
		return has("reboot", "poweroff", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep",
			"suspend-then-hibernate", "rescue", "emergency", "exit", "reboot.target", "poweroff.target",
			"halt.target", "kexec.target", "soft-reboot.target", "rescue.target", "emergency.target",
			"runlevel0.target", "runlevel1.target", "runlevel6.target", "ctrl-alt-del.target", "shutdown.target",
			"final.target")
	case "init", "telinit", "runit-init", "openrc-init":
		return has("0", "1", "6", "s")
	case "busctl", "dbus-send", "gdbus", "qdbus":
		return slices.ContainsFunc(words, func(w string) bool {
			method := strings.ToLower(w[strings.LastIndexAny(w, ".")+1:])
			return slices.Contains([]string{"reboot", "poweroff", "halt", "kexec", "suspend", "hibernate",
				"rebootwithflags", "poweroffwithflags", "haltwithflags"}, method)
		})
	case "kexec":
		return slices.ContainsFunc(args, func(w string) bool {
			return w == "-e" || strings.HasPrefix(w, "--e") ||
				w == "-f"
		})
	case "rtcwake":
		return true
	}
	return false
}

// everything tells whether a word means all there is: here, in a home, on the machine.
func (p *Policy) everything(w string) bool {
	if w == "" || strings.HasPrefix(w, "-") {
		return false
	}
	for {
		cut := strings.TrimRight(w, "/")
		cut = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(cut, "/*"), "/.*"), "/."),
			"/.[!.]*")
		if cut == w {
			break
		}
		w = cut
	}
	w = filepath.Clean(w) // of nothing, which / has become, too: a dot
	if slices.Contains([]string{"*", ".", "..", "/", ".*", "./*", "../*", "~"}, w) || strings.HasPrefix(w, "../") &&
		strings.Trim(w, "./*") == "" {
		return true
	}
	if strings.HasPrefix(w, "~") {
		return !strings.Contains(w, "/")
	}
	if !filepath.IsAbs(w) {
		return false
	}
	parts := strings.Split(w[1:], "/")
	homes := slices.Contains([]string{"home", "Users", "users"}, parts[0])
	return len(parts) == 1 || len(parts) == 2 && homes || place.Within(w, p.root) || place.Within(w, p.workspace) ||
		place.Within(w, filepath.Dir(p.home))
}
