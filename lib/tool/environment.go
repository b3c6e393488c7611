package tool

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"clawsh/lib/config"
	"clawsh/lib/place"
)

// environment is what a command's programs see of the world: made here, nothing of it the parent's but PATH, LANG and
// TZ.
type environment struct {
	list []string
	base map[string]string
	path []string // the directories of PATH
}

func newEnvironment(env *Env, ws *workspace, home string, deterministic bool) *environment {
	path := programDirs(lookupEnv(env.SelfEnv, "PATH"), ws, env.Config.Home)
	e := &environment{path: path, base: map[string]string{}}
	lang := lookupEnv(env.SelfEnv, "LANG")
	if lang == "" || deterministic {
		lang = "C.UTF-8"
	}
	e.list = []string{"PATH=" + strings.Join(path, ":"), "HOME=" + home, "TMPDIR=" + home, "LANG=" + lang, "TERM=dumb",
		"PAGER=cat",
		"GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_OPTIONAL_LOCKS=0",
		// A repository names programs that git is to run; these two it runs even when it only looks.
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=/dev/null"}
	e.list = append(e.list, env.cacheVariables()...)
	if tz := lookupEnv(env.SelfEnv, "TZ"); tz != "" && !deterministic {
		e.list = append(e.list, "TZ="+tz)
	}
	if env.Config.Sandbox.Layout == "staged" || ws.staged {
		e.list = append(e.list, "WORKSPACE_ROOT="+ws.real, "WORKSPACE_INPUT="+ws.real+"/input", "WORKSPACE_DATA="+
			ws.real+"/data",
			"WORKSPACE_OUTPUT="+ws.real+"/output")
	}
	if deterministic {
		e.list = append(e.list, fixed(env.Config.Sandbox)...)
	}
	for _, v := range e.list {
		name, value, _ := strings.Cut(v, "=")
		e.base[name] = value
	}
	return e
}

// fixed are the variables that make two runs alike: time stamp, locale, time zone and seed.
func fixed(s config.Sandbox) []string {
	seed := strconv.FormatInt(s.Seed, 10)
	return []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(s.SourceDateEpoch, 10), "ZERO_AR_DATE=1", "TZ=UTC",
		"LC_ALL=C.UTF-8",
		"CLAWSH_SEED=" + seed, "PYTHONHASHSEED=" + strconv.FormatUint(uint64(uint32(s.Seed)), 10)}
}

func lookupEnv(environ []string, name string) string {
	for _, e := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// programDirs are the directories of PATH that programs are looked for in: absolute, existing, neither in the workspace
// nor in our home, and not writable by everybody.
func programDirs(path string, ws *workspace, home string) []string {
	return ProgramDirs(path, ws.real, home)
}

// ProgramDirs are the directories of a PATH that programs are looked for in: absolute, existing, neither in the
// workspace nor in clawsh's home, and not writable by everybody.
func ProgramDirs(path, workspace, home string) []string {
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	var dirs []string
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue
		}
		real, err := filepath.EvalSymlinks(d)
		if err != nil || place.Within(workspace, real) || home != "" && place.Within(home, real) ||
			slices.Contains(dirs, real) {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.IsDir() && info.Mode()&0o002 == 0 {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// child is the environment of a program: the variables that the command exports. Variables that make programs load or
// run other things are refused.
func (e *environment) child(h interp.HandlerContext) ([]string, error) {
	// A name comes once for each scope that knows it, the innermost last: that one counts, also where it says that
	// there is none.
	vars := map[string]expand.Variable{}
	for name, v := range h.Env.Each {
		vars[name] = v
	}
	out := []string{"PWD=" + h.Dir}
	var err error
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		v := vars[name]
		if !v.Exported || v.Kind != expand.String || name == "PWD" {
			continue
		}
		if base, ok := e.base[name]; (!ok || base != v.Str) && steers(name) {
			err = fmt.Errorf("%w: %s", errSteers, quoteName(name))
		}
		out = append(out, name+"="+v.Str)
	}
	return out, err
}

var errSteers = errors.New("a command must not set this variable, which determines what programs load or run")

// steers tells whether a variable decides what code programs load, run or ask for.
func steers(name string) bool {
	if strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_") {
		return false
	}
	for _, prefix := range []string{"LD_", "DYLD_", "GIT_", "BASH_", "GCONV_", "MALLOC_", "GLIBC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "HOME", "ZDOTDIR", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH",
		"SHELL", "EDITOR", "VISUAL",
		"PAGER", "LESSOPEN", "LESSCLOSE", "MANPAGER", "BROWSER", "PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "PERL5DB",
		"RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SSH_ASKPASS", "TERMINFO", "TERMCAP"}, name)
}
