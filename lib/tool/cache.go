package tool

import (
	"os"
	"path/filepath"
	"slices"

	"clawsh/lib/obeyed"
)

// cacheVariables name the places where builders keep what they have built and downloaded, below the one that programs
// see. The module caches that the configuration shows to programs stand for Go's network.
func (e *Env) cacheVariables() []string {
	vars := []string{"GOTOOLCHAIN=local", "GOSUMDB=off", "GOPROXY=" + e.modules(), "GOFLAGS=-modcacherw"}
	if !obeyed.Repository(filepath.Join(e.workspaceDir(), ".git")) {
		// the sandbox shows an empty .git, which go would take for a damaged one
		vars[len(vars)-1] += " -buildvcs=false"
	}
	if e.CacheSeen == "" {
		return vars
	}
	for _, v := range [][2]string{{"GOCACHE", "go-build"}, {"GOMODCACHE", "go-mod"}, {"npm_config_cache", "npm"},
		{"PIP_CACHE_DIR", "pip"}, {"CARGO_HOME", "cargo"}} {
		vars = append(vars, v[0]+"="+e.CacheSeen+"/"+v[1])
	}
	return vars
}

// modules are the downloaded modules that programs may read, as Go's proxies, and nothing else.
func (e *Env) modules() string {
	out := ""
	for _, dir := range slices.Concat(e.Config.Sandbox.Read, e.Config.Readable()) {
		for _, below := range []string{"cache/download", "pkg/mod/cache/download"} {
			path := filepath.Join(dir, below)
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				out += "file://" + path + ","
			}
		}
	}
	return out + "off"
}
