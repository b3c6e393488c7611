package tool

import (
	"os"
	"slices"
	"testing"
)

// Builders are pointed at the workspace's cache, and Go at the modules that programs may read, and nowhere else.
func TestCacheVariables(t *testing.T) {
	env := testEnv(t)
	if vars := env.cacheVariables(); !slices.Contains(vars, "GOPROXY=off") ||
		slices.ContainsFunc(vars, func(v string) bool { return v[:5] == "GOCAC" }) {
		t.Errorf("without a cache: %v", vars)
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/cache/download", 0o755))
	env.Config.Sandbox.Read, env.CacheSeen = []string{dir, dir + "/none"}, "/run/cache"
	vars := env.cacheVariables()
	for _, want := range []string{"GOPROXY=file://" + dir + "/cache/download,off", "GOCACHE=/run/cache/go-build",
		"GOMODCACHE=/run/cache/go-mod", "npm_config_cache=/run/cache/npm",
		"PIP_CACHE_DIR=/run/cache/pip", "CARGO_HOME=/run/cache/cargo", "GOTOOLCHAIN=local"} {
		if !slices.Contains(vars, want) {
			t.Errorf("%s is not in %v", want, vars)
		}
	}
}
