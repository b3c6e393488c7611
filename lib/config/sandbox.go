package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"clawsh/lib/place"
)

// Sandbox says what the programs of tools see and may use. A limit of zero is rejected: no program starts without
// limits.
type Sandbox struct {
	// open, or staged: input/ read-only, data/ scratch, output/ for deliverables
	Layout string `toml:"layout" want:"open|staged"`
	// what programs may read beside the system and the workspace
	Read []string `toml:"read"`
	// whether they may change .git, but for hooks and settings
	GitWrite bool `toml:"git_write"`
	// fixed time stamp, locale, time zone and seed in their environment
	Deterministic bool `toml:"deterministic"`
	// the time stamp, in seconds since 1970
	SourceDateEpoch int64 `toml:"source_date_epoch" want:"0.." unit:"seconds since 1970"`
	Seed            int64 `toml:"seed"`
	// for sandbox = "container": NAME@sha256:DIGEST
	Image           string `toml:"image,omitempty"`
	ContainerEngine string `toml:"container_engine,omitempty" want:"docker|podman"` // docker or podman
	MemoryBytes     int64  `toml:"memory_bytes" want:"16777216.."`                  // of all processes together
	Processes       int    `toml:"processes" want:"4..32768"`                       // and threads
	OpenFiles       int    `toml:"open_files" want:"16..1048576"`                   // of each process
	CPUs            int    `toml:"cpus" want:"1..1024"`                             // processors to run on
	CPUSeconds      int    `toml:"cpu_s" want:"1..86400"`                           // processor time of each process
	FileBytes       int64  `toml:"file_bytes" want:"1024.."`                        // of each file that is written
	TmpBytes        int64  `toml:"tmp_bytes" want:"4096.."`                         // of /tmp
	// whether builders keep what they built, for each workspace
	Cache bool `toml:"cache"`
	// of all caches, as they are swept
	CacheBytes int64 `toml:"cache_bytes" want:"1048576.."`
}

func sandboxDefaults() Sandbox {
	return Sandbox{Layout: "open", Read: []string{}, ContainerEngine: "docker", SourceDateEpoch: 315532800,
		MemoryBytes: 2 << 30, Processes: 256, OpenFiles: 1024,
		CPUs: 2, CPUSeconds: 60, FileBytes: 256 << 20, TmpBytes: 64 << 20, Cache: true, CacheBytes: 4 << 30}
}

// pinned is the name of an image with its digest.
var pinned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}$`)
})

func (v *validator) sandbox(s *Sandbox, mode string, c *Config) {
	for i, p := range s.Read {
		if s.Read[i] = v.path("sandbox.read", p); s.Read[i] == "/" ||
			s.Read[i] == filepath.Clean(v.paths.getenv("HOME")) {
			v.problem("sandbox.read", "%s: programs would see all files; want a directory below it", quote("", p))
			continue
		}
		for _, f := range slices.Concat(c.Security.ForbiddenPaths, []string{c.Home},
			SecretPaths(v.paths.getenv("HOME"))) {
			if f != "" && s.Read[i] != "" && place.Within(f, s.Read[i]) {
				v.problem("sandbox.read", "%s: it is in a forbidden path (%s), and would stay hidden", quote("", p), f)
				break
			}
		}
	}
	switch {
	case s.Image != "" && !pinned().MatchString(s.Image):
		v.problem("sandbox.image", "%s: want NAME@sha256:DIGEST, an immutable image", quote("", s.Image))
	case s.Image == "" && mode == "container":
		v.problem("security.sandbox", `"container" needs sandbox.image = "NAME@sha256:DIGEST"`)
	}
}

// Stages are the directories of a staged workspace.
func Stages() []string { return []string{"input", "data", "output"} }

// StagedWritable tells whether a path, relative to the workspace, may be written in a staged one: what lies in data/
// and output/.
func StagedWritable(rel string) bool {
	first, rest, _ := strings.Cut(filepath.ToSlash(filepath.Clean(rel)), "/")
	return (first == "data" || first == "output") && rest != ""
}
