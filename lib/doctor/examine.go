package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/sibling"
	"clawsh/lib/spelling"
)

// examination is one run of doctor.
type examination struct {
	Options
	nobody bool // there is nobody to ask
	paths  config.Paths
	config *config.Config
	stages *sibling.Programs
	found  []Finding
}

// run makes all checks, as far as one does not need what another has found wrong.
func (d *examination) run(ctx context.Context) {
	var err error
	if d.paths, err = d.Paths(); err != nil {
		d.tell(ctx, failure("home", err))
		return
	}
	if !d.home(ctx) || !d.settings(ctx) {
		d.without(ctx)
		return
	}
	d.stages = sibling.New(d.config, d.Environ, nil)
	if !d.programs(ctx) {
		return
	}
	for _, check := range []func(context.Context){d.sandbox, d.keys, d.memory, d.receipts, d.audit, d.clock, d.disks,
		d.stop} {
		check(ctx)
	}
	if d.Online {
		d.provider(ctx)
	}
}

// without looks at what needs no configuration: what does is not used before the above is mended.
func (d *examination) without(ctx context.Context) {
	if _, err := os.Stat(d.paths.Home); err != nil {
		return
	}
	d.tell(ctx, Finding{Check: "configuration", State: noted,
		Message: "not checked, because clawsh does not use this home until that is repaired: keys, memory, receipts, audit log, sandbox"})
	d.config = config.Default(d.paths.Home)
	d.stages = sibling.New(d.config, d.Environ, nil)
	d.programs(ctx)
	d.disks(ctx)
	d.stop(ctx)
}

// home looks at owners, kinds and modes; it tells whether clawsh can be used on it.
func (d *examination) home(ctx context.Context) bool {
	if _, err := os.Stat(d.paths.Home); errors.Is(err, fs.ErrNotExist) {
		return d.tell(ctx, Finding{Check: "home", State: wrong,
			Message: "there is no " + d.paths.Home, Mend: "set it up (clawsh init)",
			mend: d.SetUp})
	}
	for _, s := range config.Strangers(d.paths.Home) {
		f := Finding{Check: "home", State: noted, Message: s.Path + " is not a file of clawsh",
			Hint: "clawsh does not use it; move it away if you did not put it there"}
		if s.Link != "" {
			f.Message += ": it is a link to " + s.Link
		}
		d.tell(ctx, f)
	}
	return d.faults(ctx, nil, "everything in "+d.paths.Home+" is writable only by you")
}

func (d *examination) faults(ctx context.Context, cfg *config.Config, fine string) bool {
	all := true
	faults := config.Inspect(d.paths, cfg)
	for _, f := range faults {
		found := Finding{Check: "home", State: wrong, Message: f.String(), Hint: f.Hint}
		if f.Mendable() {
			found.Hint, found.Mend = "", f.Hint
			found.mend = func(context.Context) error { return f.Mend() }
		}
		all = d.tell(ctx, found) && all
	}
	if len(faults) == 0 && fine != "" {
		d.tell(ctx, Finding{Check: "home", State: sound, Message: fine})
	}
	return all
}

// settings looks at the configuration.
func (d *examination) settings(ctx context.Context) bool {
	cfg, err := config.Load(d.paths)
	var problems *config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems.List {
			d.tell(ctx, Finding{Check: "configuration", State: wrong,
				Message: fmt.Sprintf("%s:%d:%d: %s %s", problems.File, p.Line, p.Column, p.Key, p.Message)})
		}
		return false
	}
	if cfg == nil { // where the memory or the receipts lie elsewhere
		return d.tell(ctx, failure("configuration", err))
	}
	d.config = cfg
	d.workspace(ctx)
	state := Finding{Check: "configuration", State: sound, Message: cfg.File + " is valid"}
	if !cfg.Found() {
		state.Message = "there is none at " + cfg.File + ": the defaults are in force"
	}
	d.tell(ctx, state)
	if missing := cfg.ToolsNotOffered(); len(missing) > 0 {
		d.tell(ctx, Finding{Check: "tools", State: noted, Message: "not offered to the model: " +
			strings.Join(missing, ", "),
			Hint: "channels.cli.tools_allow does not list them; a list written by an older clawsh lacks newer tools"})
	}
	return true
}

// workspace looks whether the agent has a directory to work in.
func (d *examination) workspace(ctx context.Context) {
	if err := d.config.CheckWorkspace(); err != nil {
		d.tell(ctx, failure("workspace", err))
		return
	}
	dir := d.config.WorkspaceDir
	f := Finding{Check: "workspace", State: sound, Message: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f = Finding{Check: "workspace", State: wrong, Message: "there is no " + dir}
		if missing, err := config.LookMissing(dir); err != nil {
			f.Hint = fmt.Sprintf("create it by hand: %v", err)
		} else {
			f.Mend, f.mend = "create it", func(context.Context) error { return missing.Make() }
		}
	case err != nil:
		f = failure("workspace", err)
	case !info.IsDir():
		f.State, f.Message, f.Hint = wrong, dir+" is not a directory",
			"move it away, or set workspace_dir to another directory"
	}
	d.tell(ctx, f)
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
		d.tell(ctx, Finding{Check: "sandbox", State: wrong,
			Message: "no program can run: " + r.Why, Hint: "claw-exec sandbox shows what each engine lacks"})
	case r.Mode == "off":
		d.tell(ctx, Finding{Check: "sandbox", State: noted,
			Message: `security.sandbox = "off": programs run unconfined`})
	default:
		d.tell(ctx, Finding{Check: "sandbox", State: sound,
			Message: "programs can be confined, by: " + strings.Join(works, ", ")})
	}
}

func (d *examination) keys(ctx context.Context) {
	for _, path := range []string{d.config.PermitKeyPath(), d.config.PermitPubPath(),
		filepath.Join(d.config.ReceiptKeysDir(), "receipt.key"),
		filepath.Join(d.config.ReceiptKeysDir(), "receipt.pub")} {
		if _, err := os.Lstat(path); err != nil {
			d.tell(ctx, Finding{Check: "keys", State: wrong,
				Message: path + " is missing",
				Hint:    "restore it from a backup; clawsh init creates keys only if none was used yet"})
			return
		}
	}
	if err := d.stages.Query(ctx, &struct{}{}, "claw-receipt", "keys"); err != nil {
		d.tell(ctx, failure("keys", err))
		return
	}
	d.tell(ctx, Finding{Check: "keys", State: sound, Message: "the keys for permits and receipts are there"})
}

func (d *examination) memory(ctx context.Context) {
	err := d.stages.Query(ctx, &struct{}{}, "claw-mem", "check")
	if err == nil {
		d.tell(ctx, Finding{Check: "memory", State: sound, Message: d.config.Memory.Path + " is sound"})
		return
	}
	f := failure("memory", err)
	if envelope.From(err).Code == "memory.unavailable" {
		d.tell(ctx, f) // a check that cannot open it rebuilds nothing
		return
	}
	f.Mend, f.mend = "rebuild indexes and mirrors: claw-mem check --rebuild --repair-mirror",
		func(ctx context.Context) error {
			if err := d.stages.Query(ctx, &struct{}{}, "claw-mem", "check", "--rebuild",
				"--repair-mirror"); err != nil {
				return err
			}
			return d.stages.Query(ctx, &struct{}{}, "claw-mem", "check")
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
		d.tell(ctx, Finding{Check: "receipts", State: noted,
			Message: fmt.Sprintf("a crash left %s of an unfinished line at the end: the next receipt moves it aside",
				spelling.Count(r.Torn, "byte"))})
	}
	d.tell(ctx, Finding{Check: "receipts", State: sound, Message: r.Evidence})
}

func (d *examination) audit(ctx context.Context) {
	var r struct {
		Lines int `json:"lines"`
	}
	err := d.stages.Query(ctx, &r, "claw-gate", "audit")
	if err == nil {
		d.tell(ctx, Finding{Check: "audit log", State: sound,
			Message: fmt.Sprintf("%s, all the gate's", spelling.Count(r.Lines, "decision"))})
		return
	}
	f := failure("audit log", err)
	if !strings.Contains(f.Hint, "--mend") { // it is not at the end, or cannot be read
		d.tell(ctx, f)
		return
	}
	f.Hint, f.Mend, f.mend = "",
		"move the bytes at the end that the gate did not write into a file beside it: claw-gate audit --mend",
		func(ctx context.Context) error {
			if err := d.stages.Query(ctx, &r, "claw-gate", "audit", "--mend"); err != nil {
				return err
			}
			return d.stages.Query(ctx, &r, "claw-gate", "audit")
		}
	d.tell(ctx, f)
}

func (d *examination) stop(ctx context.Context) {
	if stopped, why := config.Estop(d.paths.Home); stopped {
		d.tell(ctx, Finding{Check: "emergency stop", State: noted, Message: "no tool can run: " + why})
	}
}

func (d *examination) provider(ctx context.Context) {
	name := d.config.DefaultProvider
	if err := d.stages.Query(ctx, &struct{}{}, "claw-llm", "test", "--", name); err != nil {
		d.tell(ctx, failure("provider", err))
		return
	}
	d.tell(ctx, Finding{Check: "provider", State: sound, Message: name + " answers"})
}
