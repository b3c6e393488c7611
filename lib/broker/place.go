package broker

import (
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/place"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// homeSeen is where programs see the home directory of their call: always the same place, where the engine can show
// it there.
func homeSeen(cfg *config.Config) string {
	switch cfg.Security.Sandbox {
	case "auto", sandbox.Native, sandbox.Bubblewrap:
		return "/run/home"
	}
	return ""
}

// Limits are what programs may take.
func Limits(cfg *config.Config) sandbox.Limits {
	s := cfg.Sandbox
	return sandbox.Limits{MemoryBytes: s.MemoryBytes, Processes: s.Processes, OpenFiles: s.OpenFiles, CPUs: s.CPUs,
		CPUS:      s.CPUSeconds,
		FileBytes: s.FileBytes, TmpBytes: s.TmpBytes}
}

// Place is what programs see: the workspace, what the configuration lets them read, and the directories of PATH that
// lie elsewhere. Secrets are covered wherever they lie.
func Place(o Options) sandbox.Place {
	cfg, home := o.Config, o.getenv("HOME")
	hidden := append([]string{cfg.Home, cfg.File, cfg.Memory.Path, cfg.Receipts.Path}, cfg.Security.ForbiddenPaths...)
	if home != "" {
		hidden = append(hidden, config.SecretPaths(home)...)
	}
	refuse := realAll([]string{home, cfg.Home})
	workspace := place.Real(cfg.WorkspaceDir)
	// A directory of PATH that holds more than programs is not shown.
	programs := slices.DeleteFunc(tool.ProgramDirs(o.getenv("PATH"), workspace, cfg.Home), func(dir string) bool {
		return slices.ContainsFunc(refuse, func(r string) bool { return place.Within(dir, r) })
	})
	return sandbox.Place{HomeSeen: homeSeen(cfg), Cache: cacheDir(cfg), CacheSeen: cacheSeen(cfg),
		Workspace: workspace, ID: cfg.Workspace.ID,
		Layout: cfg.Sandbox.Layout, GitWrite: cfg.Sandbox.GitWrite,
		Read: append(realAll(cfg.Sandbox.Read), programs...), Roots: cfg.Readable(), Hidden: realAll(hidden),
		Refuse: refuse, Image: cfg.Sandbox.Image, Runtime: cfg.Sandbox.ContainerEngine}
}

func (o Options) getenv(name string) string {
	for _, e := range slices.Backward(o.Environ) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// realAll are paths as they are named, and where links lead from there.
func realAll(paths []string) []string {
	out := []string{}
	for _, p := range paths {
		if p != "" {
			out = append(out, filepath.Clean(p))
			if r := place.Real(p); r != filepath.Clean(p) {
				out = append(out, r)
			}
		}
	}
	return out
}
