package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/loop"
)

// examination is one run of doctor.
type examination struct {
	call                *command.Call
	online, yes, nobody bool
	paths               config.Paths
	config              *config.Config
	stages              *loop.Siblings
	findings            []finding
}

func (d *examination) terminalFile() *os.File { return os.Stdin }

// run makes all checks, as far as one does not need what another has found wrong.
func (d *examination) run(ctx context.Context) {
	var err error
	if d.paths, err = d.call.Paths(); err != nil {
		d.tell(ctx, failure("home", err))
		return
	}
	if !d.home(ctx) || !d.settings(ctx) {
		return
	}
	d.stages = loop.NewSiblings(d.config, d.call.Environ, nil)
	if !d.programs(ctx) {
		return
	}
	for _, check := range []func(context.Context){d.sandbox, d.keys, d.memory, d.receipts, d.audit, d.clock, d.disks, d.stop} {
		check(ctx)
	}
	if d.online {
		d.provider(ctx)
	}
}

// home looks at owners, kinds and modes; it tells whether clawsh can be used on it.
func (d *examination) home(ctx context.Context) bool {
	if _, err := os.Stat(d.paths.Home); errors.Is(err, fs.ErrNotExist) {
		return d.tell(ctx, finding{Check: "home", State: wrong, Message: "there is no " + d.paths.Home, Mend: "set it up, as clawsh init does",
			mend: func(ctx context.Context) error { _, err := setUp(ctx, d.call, d.paths); return err }})
	}
	return d.faults(ctx, nil, "everything in "+d.paths.Home+" is yours alone to write")
}

func (d *examination) faults(ctx context.Context, cfg *config.Config, fine string) bool {
	all := true
	faults := config.Inspect(d.paths, cfg)
	for _, f := range faults {
		found := finding{Check: "home", State: wrong, Message: f.String(), Hint: f.Hint}
		if f.Mode != 0 {
			found.Hint, found.Mend = "", f.Hint
			found.mend = func(context.Context) error { return os.Chmod(f.Path, f.Mode) }
		}
		all = d.tell(ctx, found) && all
	}
	if len(faults) == 0 && fine != "" {
		d.tell(ctx, finding{Check: "home", State: sound, Message: fine})
	}
	return all
}

// settings looks at the configuration.
func (d *examination) settings(ctx context.Context) bool {
	cfg, err := config.Load(d.paths)
	var problems *config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems.List {
			d.tell(ctx, finding{Check: "configuration", State: wrong, Message: fmt.Sprintf("%s:%d:%d: %s %s", problems.File, p.Line, p.Column, p.Key, p.Message)})
		}
		return false
	}
	if cfg == nil { // where the memory or the receipts lie elsewhere
		return d.tell(ctx, failure("configuration", err))
	}
	d.config = cfg
	if err := cfg.CheckWorkspace(); err != nil {
		f := failure("workspace", err)
		if cfg.Workspace.From == config.FromConfig {
			f.Mend, f.mend = "make it", func(context.Context) error { return os.MkdirAll(cfg.Workspace.Fixed, 0o755) }
		}
		d.tell(ctx, f)
	}
	state := finding{Check: "configuration", State: sound, Message: cfg.File + " is valid"}
	if !cfg.Found() {
		state.Message = "there is none at " + cfg.File + ": the defaults are in force"
	}
	d.tell(ctx, state)
	if missing := cfg.ToolsNotOffered(); len(missing) > 0 {
		d.tell(ctx, finding{Check: "tools", State: noted, Message: "not offered to the model: " + strings.Join(missing, ", "),
			Hint: "channels.cli.tools_allow does not list them; a list that an older clawsh wrote does not know new ones"})
	}
	return true
}

var stagePrograms = []string{"claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"}

// programs looks for all programs, of one version.
func (d *examination) programs(ctx context.Context) bool {
	all := true
	for _, name := range stagePrograms {
		var v struct {
			Version string `json:"version"`
		}
		err := d.stages.Query(ctx, &v, name, "--version")
		switch {
		case err != nil:
			f := failure("programs", err)
			f.Hint = "install all seven programs into one directory: make install"
			all = d.tell(ctx, f) && all
		case v.Version != command.Version:
			all = d.tell(ctx, finding{Check: "programs", State: wrong, Message: fmt.Sprintf("%s is of version %s, clawsh of %s", name, v.Version, command.Version),
				Hint: "install all seven programs of one version into one directory: make install"}) && all
		}
	}
	if all {
		d.tell(ctx, finding{Check: "programs", State: sound, Message: "all seven are there, of version " + command.Version})
	}
	return all
}

func (d *examination) sandbox(ctx context.Context) {
	var r struct {
		Mode    string `json:"mode"`
		Usable  bool   `json:"usable"`
		Why     string `json:"why"`
		Engines []struct {
			Engine string `json:"engine"`
			Works  bool   `json:"works"`
		} `json:"engines"`
	}
	if err := d.stages.Query(ctx, &r, "claw-exec", "sandbox"); err != nil {
		d.tell(ctx, failure("sandbox", err))
		return
	}
	var works []string
	for _, e := range r.Engines {
		if e.Works {
			works = append(works, e.Engine)
		}
	}
	switch {
	case !r.Usable:
		d.tell(ctx, finding{Check: "sandbox", State: wrong, Message: "no program can run: " + r.Why, Hint: "claw-exec sandbox says what each engine lacks"})
	case r.Mode == "off":
		d.tell(ctx, finding{Check: "sandbox", State: noted, Message: `security.sandbox = "off": programs run unconfined`})
	default:
		d.tell(ctx, finding{Check: "sandbox", State: sound, Message: "programs can be confined, by: " + strings.Join(works, ", ")})
	}
}

func (d *examination) keys(ctx context.Context) {
	for _, path := range []string{d.config.PermitKeyPath(), d.config.PermitPubPath(), filepath.Join(d.config.ReceiptKeysDir(), "receipt.key"),
		filepath.Join(d.config.ReceiptKeysDir(), "receipt.pub")} {
		if _, err := os.Lstat(path); err != nil {
			d.tell(ctx, finding{Check: "keys", State: wrong, Message: path + " is missing", Hint: "put it back from a backup; clawsh init makes keys where none was used yet"})
			return
		}
	}
	if err := d.stages.Query(ctx, &struct{}{}, "claw-receipt", "keys"); err != nil {
		d.tell(ctx, failure("keys", err))
		return
	}
	d.tell(ctx, finding{Check: "keys", State: sound, Message: "those of permits and of receipts are there"})
}

func (d *examination) memory(ctx context.Context) {
	err := d.stages.Query(ctx, &struct{}{}, "claw-mem", "check")
	if err == nil {
		d.tell(ctx, finding{Check: "memory", State: sound, Message: d.config.Memory.Path + " is sound"})
		return
	}
	f := failure("memory", err)
	f.Mend, f.mend = "make indexes and mirrors anew: claw-mem check --rebuild --repair-mirror", func(ctx context.Context) error {
		return d.stages.Query(ctx, &struct{}{}, "claw-mem", "check", "--rebuild", "--repair-mirror")
	}
	d.tell(ctx, f)
}

func (d *examination) receipts(ctx context.Context) {
	var r struct {
		Evidence string `json:"evidence"`
		Torn     int64  `json:"torn_tail"`
	}
	if err := d.stages.Query(ctx, &r, "claw-receipt", "verify"); err != nil {
		d.tell(ctx, failure("receipts", err))
		return
	}
	if r.Torn > 0 {
		d.tell(ctx, finding{Check: "receipts", State: noted, Message: fmt.Sprintf("%d bytes at the end were cut by a crash: the next receipt moves them aside", r.Torn)})
	}
	d.tell(ctx, finding{Check: "receipts", State: sound, Message: r.Evidence})
}

func (d *examination) audit(ctx context.Context) {
	var r struct {
		Lines int `json:"lines"`
	}
	err := d.stages.Query(ctx, &r, "claw-gate", "audit")
	if err == nil {
		d.tell(ctx, finding{Check: "audit log", State: sound, Message: fmt.Sprintf("%d decisions, all the gate's", r.Lines)})
		return
	}
	f := failure("audit log", err)
	f.Mend, f.mend = "move what is not the gate's at the end into a file beside it: claw-gate audit --mend", func(ctx context.Context) error {
		if err := d.stages.Query(ctx, &r, "claw-gate", "audit", "--mend"); err != nil {
			return err
		}
		return d.stages.Query(ctx, &r, "claw-gate", "audit")
	}
	d.tell(ctx, f)
}

// clock compares the clock with the newest receipt: permits live by it.
func (d *examination) clock(ctx context.Context) {
	var r struct {
		Receipts []struct {
			Timestamp string `json:"timestamp"`
		} `json:"receipts"`
	}
	now := time.Now()
	if d.stages.Query(ctx, &r, "claw-receipt", "list", "--limit", "1") == nil && len(r.Receipts) > 0 {
		last, err := time.Parse(time.RFC3339, r.Receipts[len(r.Receipts)-1].Timestamp)
		if err == nil && now.Before(last.Add(-time.Minute)) {
			d.tell(ctx, finding{Check: "clock", State: wrong, Message: fmt.Sprintf("it says %s, which is before the newest receipt, %s", now.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339)),
				Hint: "set the clock; permits and receipts go by it"})
			return
		}
	}
	if now.Year() < 2025 || now.Year() > 2100 {
		d.tell(ctx, finding{Check: "clock", State: wrong, Message: fmt.Sprintf("it says %s", now.UTC().Format(time.RFC3339)), Hint: "set the clock"})
		return
	}
	d.tell(ctx, finding{Check: "clock", State: sound, Message: now.UTC().Format(time.RFC3339)})
}

// leastFree is what a few turns need.
const leastFree = 64 << 20

// disks looks where clawsh writes.
func (d *examination) disks(ctx context.Context) {
	seen := map[string]bool{}
	for _, dir := range []string{d.paths.Home, filepath.Dir(d.config.Memory.Path), filepath.Dir(d.config.Receipts.Path), os.TempDir()} {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			d.tell(ctx, finding{Check: "disk", State: wrong, Message: fmt.Sprintf("%s: %v", dir, err)})
			continue
		}
		free := int64(s.Bavail) * int64(s.Bsize)
		f, err := os.CreateTemp(dir, ".clawsh-doctor-")
		if err == nil {
			_, err = f.Write([]byte("x"))
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		switch {
		case err != nil:
			d.tell(ctx, finding{Check: "disk", State: wrong, Message: fmt.Sprintf("nothing can be written in %s: %v", dir, err)})
		case free < leastFree:
			d.tell(ctx, finding{Check: "disk", State: wrong, Message: fmt.Sprintf("%s has %d MB left", dir, free>>20), Hint: "a call whose receipt cannot be written does not run"})
		default:
			d.tell(ctx, finding{Check: "disk", State: sound, Message: fmt.Sprintf("%s: %d MB free", dir, free>>20)})
		}
	}
}

func (d *examination) stop(ctx context.Context) {
	if stopped, why := config.Estop(d.paths.Home); stopped {
		d.tell(ctx, finding{Check: "emergency stop", State: noted, Message: "no tool may run: " + why})
	}
}

func (d *examination) provider(ctx context.Context) {
	name := d.config.DefaultProvider
	if err := d.stages.QueryWithSecrets(ctx, &struct{}{}, "claw-llm", "test", "--", name); err != nil {
		d.tell(ctx, failure("provider", err))
		return
	}
	d.tell(ctx, finding{Check: "provider", State: sound, Message: name + " answers"})
}
