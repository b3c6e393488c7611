// Package sandbox runs programs that are not trusted: with no network, a system that they can only read, one directory
// that they may write, no sight of anybody's secrets, no privileges, a bounded life and bounded resources (DESIGN §6).
//
// What is wanted is a list of guarantees. What there is are engines, each of which gives some of them:
//
//	native       Linux namespaces, a root file system of chosen mounts, Landlock, seccomp, limits. No helper program.
//	bubblewrap   the same view and filter, the namespaces made by bwrap(1), for hosts that let only that one make them
//	landlock     Landlock, seccomp and limits without namespaces
//	container    a container engine's command, with an image that is named by its digest
//	seatbelt     macOS's sandbox-exec(1)
//
// A Sandbox in mode auto takes the first of native and bubblewrap that gives every guarantee; anything less has to be
// named by the configuration, and every result says what is missing. Where nothing will do, nothing runs (Unavailable).
//
// There is no trial run: an engine either has set up everything when it starts the program, or has not started it.
package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"clawsh/lib/place"
)

// Guarantee is one thing that a program in the sandbox cannot do, or have.
type Guarantee string

// Guarantees.
const (
	Network Guarantee = "network" // reaches no other process and no other machine by any socket
	Files   Guarantee = "files"   // writes only the workspace, its home and its temporary files
	// sees nothing of the user's files but the workspace, not even that they exist
	Secrets     Guarantee = "secrets"
	Temporary   Guarantee = "temporary"   // has a /tmp of its own, of bounded size
	Processes   Guarantee = "processes"   // sees and signals no process outside, and none of it outlives the program
	Environment Guarantee = "environment" // sees no variable and no open file but those that it was given
	Privileges  Guarantee = "privileges"  // has no capability, cannot gain any, makes no set-id file
	Calls       Guarantee = "calls"       // reaches no system call outside the filter
	Memory      Guarantee = "memory"      // takes no more memory, all its processes together
	Tasks       Guarantee = "tasks"       // makes no more processes and threads
	CPU         Guarantee = "cpu"         // runs on no more processors, and no process for longer
	Descriptors Guarantee = "descriptors" // opens no more files, and makes none longer
)

// All are all guarantees: what mode auto requires.
var All = []Guarantee{Network, Files, Secrets, Temporary, Processes, Environment, Privileges, Calls, Memory, Tasks, CPU,
	Descriptors}

// Names of engines.
const (
	Native     = "native"
	Bubblewrap = "bubblewrap"
	Landlock   = "landlock"
	Container  = "container"
	Seatbelt   = "seatbelt"
	Off        = "off"
)

// Layouts of a workspace.
const (
	Open   = "open"   // all of it is writable
	Staged = "staged" // input/ and everything else is read-only, data/ is scratch, output/ is for deliverables
)

// Limits bound what a program may take. All must be set: a limit of zero is refused, not taken for "none".
type Limits struct {
	MemoryBytes int64 `json:"memory_bytes"` // of all processes together; also of each one's data
	Processes   int   `json:"processes"`    // and threads
	OpenFiles   int   `json:"open_files"`   // of each process
	CPUs        int   `json:"cpus"`         // processors to run on
	CPUS        int   `json:"cpu_s"`        // processor time of each process, in seconds
	FileBytes   int64 `json:"file_bytes"`   // of each file that is written
	TmpBytes    int64 `json:"tmp_bytes"`    // of /tmp
}

// Check says which limit is missing.
func (l Limits) Check() error {
	for _, v := range []struct {
		name  string
		value int64
	}{{"memory_bytes", l.MemoryBytes}, {"processes", int64(l.Processes)}, {"open_files", int64(l.OpenFiles)},
		{"cpus", int64(l.CPUs)},
		{"cpu_s", int64(l.CPUS)}, {"file_bytes", l.FileBytes}, {"tmp_bytes", l.TmpBytes}} {
		if v.value <= 0 {
			return fmt.Errorf("the limit %s is not set; no program starts without it", v.name)
		}
	}
	return nil
}

// Place is where programs run: what they see of the file system.
type Place struct {
	Workspace string `json:"workspace"` // absolute, without links; writable as the layout says
	// its device and inode, if another directory under its name is to be refused
	ID       string `json:"id,omitzero"`
	Layout   string `json:"layout,omitzero"`    // Open or Staged, Open if empty
	GitWrite bool   `json:"git_write,omitzero"` // .git may be changed, but for its hooks and settings
	ReadOnly bool   `json:"read_only,omitzero"` // nothing of the workspace may be written
	Home     string `json:"home,omitzero"`      // a writable directory of this call alone
	// its device and inode, if another directory in its place is to be refused
	HomeID    string   `json:"-"`
	Cache     string   `json:"cache,omitzero"`      // a writable directory of this workspace
	CacheSeen string   `json:"cache_seen,omitzero"` // where programs see it, in engines with a view of their own
	HomeSeen  string   `json:"home_seen,omitzero"`  // where programs see it, in engines with a view of their own
	Read      []string `json:"read,omitzero"`       // further directories and files to read
	Roots     []string `json:"roots,omitzero"`      // directories of files to read, in every engine, containers too
	Hidden    []string `json:"hidden,omitzero"`     // covered where they lie within the others
	Refuse    []string `json:"refuse,omitzero"`     // what no workspace may be or contain
	Obeyed    []string `json:"obeyed,omitzero"`     // files that other programs obey, and that may be written
	Self      string   `json:"self,omitzero"`       // our own program, which is run as an interpreter
	Image     string   `json:"image,omitzero"`      // for the container engine
	Runtime   string   `json:"runtime,omitzero"`    // the container engine's command

	found []string // the repositories in it, if somebody has looked
}

// Check refuses a workspace that would give away what a sandbox is for.
func (p Place) Check() error {
	if !filepath.IsAbs(p.Workspace) || filepath.Clean(p.Workspace) != p.Workspace {
		return fmt.Errorf("the workspace %q is not an absolute path", p.Workspace)
	}
	if p.Workspace == "/" {
		return errors.New("the workspace is the whole file system")
	}
	for _, r := range p.Refuse {
		if r != "" && place.Within(p.Workspace, r) {
			return fmt.Errorf("the workspace %s is or contains %s", p.Workspace, r)
		}
		for _, read := range slices.Concat(p.Read, p.Roots) {
			if r != "" && place.Within(read, r) {
				return fmt.Errorf("%s, which programs may read, is or contains %s", read, r)
			}
		}
	}
	if !slices.Contains([]string{"", Open, Staged}, p.Layout) {
		return fmt.Errorf("the layout %q: want open or staged", p.Layout)
	}
	return nil
}

// Program is what is run.
type Program struct {
	Argv []string `json:"argv"` // the first is the program's absolute path
	Dir  string   `json:"dir"`
	Env  []string `json:"env"` // all of it
}

// Streams are a program's standard files. A nil Stdin is empty; output to nil is thrown away.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Exit is how a program ended.
type Exit struct {
	Code   int    // its exit code, 128+n if signal n ended it
	Killed string // why the sandbox ended it, "" if it did not
	// Made are files in the workspace that other programs obey, that the program made, and that its permit does not
	// name: paths below the workspace.
	Made []string `json:",omitzero"`
}

// Report says what is in force around a program: with every guarantee the mechanism, and what is missing.
type Report struct {
	Engine      string               `json:"engine"`
	Kernel      string               `json:"kernel,omitzero"`
	LandlockABI int                  `json:"landlock_abi,omitzero"`
	FilterHash  string               `json:"filter_sha256,omitzero"`
	Guarantees  map[Guarantee]string `json:"guarantees"`
	Missing     []Guarantee          `json:"missing"`
}

// partly begins the mechanism of a guarantee that an engine does not give as a whole.
const partly = "partly: "

// lacks fills in what is missing of the required guarantees.
func (r Report) lacks(required []Guarantee) Report {
	r.Missing = []Guarantee{}
	for _, g := range required {
		if m := r.Guarantees[g]; m == "" || strings.HasPrefix(m, partly) {
			r.Missing = append(r.Missing, g)
		}
	}
	return r
}

// Unavailable means that no engine gives what is required here: nothing was run.
type Unavailable struct {
	Mode    string
	Reasons []string // engine: why, in the order of trial
}

// Error implements error.
func (u *Unavailable) Error() string {
	return "the sandbox that the policy requires cannot be set up here: " + strings.Join(u.Reasons, "; ")
}

// Hint says what can be done.
func (u *Unavailable) Hint() string {
	why := strings.Join(u.Reasons, " ")
	switch {
	case strings.Contains(why, "tasks") && strings.Contains(why, "does not bound"):
		return "run clawsh as an ordinary user: this kernel does not limit the number of processes of root"
	case u.Mode == "auto" && (strings.Contains(why, "operation not permitted") ||
		strings.Contains(why, "no space left")):
		return "allow user namespaces on this host, or name a weaker engine in the configuration: security.sandbox = \"landlock\" (see docs/SECURITY.md)"
	}
	return "to see which sandboxes work on this machine, run: clawsh policy"
}

// setupError means that an engine could not set up what it promises; the program was not started.
type setupError struct{ err error }

func (e setupError) Error() string { return e.err.Error() }
func (e setupError) Unwrap() error { return e.err }

// ErrAlone means that a program cannot be kept from starting others.
var ErrAlone = errors.New("it cannot prevent a program from starting others")

// killGrace is how long the sandbox's end is awaited after it was told.
const killGrace = 2 * time.Second
