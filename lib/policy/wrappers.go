package policy

import (
	"slices"
	"strings"
)

// wrappers are programs that run the command in their arguments.
var wrappers = map[string]bool{"env": true, "sudo": true, "doas": true, "nice": true, "nohup": true, "timeout": true, "xargs": true, "time": true,
	"command": true, "exec": true, "builtin": true, "stdbuf": true, "setsid": true, "busybox": true, "ionice": true, "chrt": true, "taskset": true,
	"strace": true, "watch": true, "parallel": true, "find": true, "flock": true, "unshare": true, "chroot": true, "su": true, "eval": true, "trap": true,
	"script": true, "ssh": true, "nsenter": true, "systemd-run": true, "at": true, "batch": true, "entr": true, "toybox": true, "rlwrap": true, "pkexec": true}

// unwrap judges what a command runs in its turn. Which argument is the inner command depends on the wrapper's options; each
// that could be is judged, since only blocked findings count here.
func (p *Policy) unwrap(name string, c command, level int) []finding {
	if level >= maxUnwrap {
		return []finding{blocked("shell.unsafe_bytes", "commands in commands, more than %d deep", maxUnwrap)}
	}
	var out []finding
	if slices.Contains(shells, name) || name == "su" || name == "eval" || name == "trap" || name == "watch" || name == "ssh" || name == "script" ||
		name == "parallel" || name == "xargs" {
		for _, w := range c.words[1:] {
			if strings.ContainsAny(w, " \t\n;|&") {
				out = append(out, onlyBlocked(p.script(w, level+1)))
			}
		}
		if name == "eval" {
			out = append(out, onlyBlocked(p.script(strings.Join(c.words[1:], " "), level+1)))
		}
	}
	if wrappers[name] || slices.Contains(shells, name) {
		for i := 1; i < len(c.words); i++ {
			if f := p.innerCommand(command{c.words[i:], c.literal[i:]}, level+1); f.blocked {
				out = append(out, f)
			}
		}
		if name == "env" {
			out = append(out, p.splitStrings(c, level)...)
		}
	}
	return out
}

// innerCommand is forbiddenCommand for words that may not be a command at all.
func (p *Policy) innerCommand(c command, level int) finding {
	name := c.name()
	if name == "" || strings.HasPrefix(c.words[0], "-") || level > maxUnwrap {
		return finding{}
	}
	if slices.Contains(p.never, name) || name == "mkfs" || strings.HasPrefix(name, "mkfs.") {
		return p.forbiddenCommand(c, maxUnwrap-1)
	}
	if f := destructive(name, c); f.blocked {
		return f
	}
	if slices.Contains(shells, name) {
		return p.forbiddenCommand(c, level)
	}
	return finding{}
}

// splitStrings judges env -S "command line".
func (p *Policy) splitStrings(c command, level int) []finding {
	var out []finding
	for _, w := range c.words[1:] {
		text := strings.TrimPrefix(strings.TrimPrefix(w, "--split-string="), "-S")
		if text != "" && strings.ContainsAny(text, " \t") {
			out = append(out, onlyBlocked(p.script(text, level+1)))
		}
	}
	return out
}

// onlyBlocked keeps what is blocked: of a script inside a script nothing else counts, the wrapper itself is not on the
// allowlist. A text that is no script is no reason to block.
func onlyBlocked(f finding) finding {
	if f.blocked && f.rule != "shell.syntax" {
		return f
	}
	return finding{}
}
