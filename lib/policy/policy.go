// Package policy decides whether a tool call may run: call and configuration in, verdict out. It is pure but for a
// Resolver, which answers where paths really lead.
//
// Risk and autonomy are those of the specification ("Security model"). The rules, by the ids that verdicts bear, are
// those of the table "Rules" of docs/SCHEMAS.md.
//
// Blocked beats everything, approval and autonomy full included. Where a script has several parts, the strictest
// decides. Supervision denies high risk under the rule that found it, or asks about it where security.high = "ask" or
// an own rule says so.
//
// A script is judged as it is written, and once more, by ExecIn and Access, as it is expanded when it runs.
package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"clawsh/lib/card"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/place"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Call is a tool call as the policy sees it.
type Call struct {
	ID, ConversationID, Tool string
	Args                     record.Raw
}

// Outcome is what is to be done with a call.
type Outcome int

// Outcomes, from the mildest to the strictest.
const (
	Allow Outcome = iota
	Ask
	Deny
)

// String returns allow, ask or deny.
func (o Outcome) String() string { return [...]string{"allow", "ask", "deny"}[o] }

// Verdict is the policy's decision about a call, before anybody was asked.
type Verdict struct {
	Outcome            Outcome
	Risk, Rule, Reason string

	// Obeyed are the files that other programs obey and that the call writes, as far as the question names them: a
	// permit is for these.
	Obeyed []string

	lifts bool   // denied for its risk alone: a rule may make a question of it
	found string // what was found, without what follows from it
}

// Resolver tells where a path leads once all symbolic links are followed.
type Resolver interface {
	EvalSymlinks(path string) (string, error)
}

// OS resolves paths on this machine.
type OS struct{ place.OS }

// maxNames is how many names of a directory are looked at before a script runs.
const maxNames = 16384

var errManyNames = errors.New("it has too many files to examine")

// ReadDir lists a directory, with errManyNames if there are more than maxNames.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxNames + 1)
	switch {
	case err == io.EOF:
		err = nil
	case len(entries) > maxNames:
		err = errManyNames
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Policy is a configuration that decides. It is safe for concurrent use.
type Policy struct {
	autonomy      string
	workspace     string // as configured
	root          string // the workspace with symbolic links followed
	readRoots     []string
	secrets       []string // what read roots do not show
	workspaceOnly bool
	forbidden     []string
	commands      []string
	subcommands   []string // a program and its first word
	listed        []string // both, as they are configured
	never         []string
	domains       []string
	urlBytes      int // what an address may tell its server at low risk
	tools         []string
	sandbox       string // its mode
	harmless      bool   // what is proven to read only is low risk: there is a sandbox that holds it to that
	high          bool   // high risk asks at supervised
	staged        bool   // the workspace's layout
	rules         []rule // the user's own
	directory     string // which one the workspace is, whatever it is called (config.Mark)
	confined      Confined
	fs            Resolver
	home          string // clawsh's own
	originals     func() []original
	hash          func() string
}

// New returns the policy of a configuration.
func New(cfg *config.Config, resolver Resolver) (*Policy, error) {
	if err := cfg.CheckWorkspace(); err != nil {
		return nil, err
	}
	p := &Policy{autonomy: cfg.Security.Autonomy, workspace: filepath.Clean(cfg.WorkspaceDir),
		workspaceOnly: cfg.Security.WorkspaceOnly,
		listed:        cfg.Security.AllowedCommands, never: cfg.Security.ForbiddenCommands,
		domains: cfg.Security.AllowedDomains, urlBytes: cfg.Security.UnaskedURLBytes,
		tools: cfg.Channels.CLI.ToolsAllow, sandbox: cfg.Security.Sandbox, harmless: cfg.Security.Harmless == "low" &&
			cfg.Security.Sandbox != "off", high: cfg.Security.High == "ask",
		staged: cfg.Sandbox.Layout == "staged", fs: resolver, readRoots: cfg.Readable(),
		directory: cfg.WorkspaceMark(), confined: confinement(cfg)}
	for _, c := range p.listed {
		if strings.Contains(c, " ") {
			p.subcommands = append(p.subcommands, c)
		} else {
			p.commands = append(p.commands, c)
		}
	}
	p.root = p.real(p.workspace)
	for _, f := range append(clawshPlaces(cfg), cfg.Security.ForbiddenPaths...) {
		p.forbidden = append(p.forbidden, filepath.Clean(f))
		if real := p.real(f); real != filepath.Clean(f) {
			p.forbidden = append(p.forbidden, real)
		}
	}
	for _, s := range cfg.Secrets {
		p.secrets = append(p.secrets, s, p.real(s))
	}
	p.hash, p.originals, p.home = sync.OnceValue(p.compute), sync.OnceValue(p.findOriginals), filepath.Clean(cfg.Home)
	var err error
	if p.rules, err = compileRules(cfg.OwnRules()); err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "config.invalid", "%w", err).
			WithHint("for details, run: clawsh config validate")
	}
	return p, nil
}

// clawshPlaces are what belongs to clawsh itself, at every level and whatever the configuration forbids: its home, and
// the files that the configuration keeps elsewhere.
func clawshPlaces(cfg *config.Config) []string {
	places := []string{cfg.Home}
	for _, f := range []string{cfg.File, cfg.Receipts.Path, cfg.Memory.Path, cfg.Memory.Path + "-wal", cfg.Memory.Path +
		"-shm"} {
		if filepath.IsAbs(f) && !place.Within(filepath.Clean(cfg.Home), filepath.Clean(f)) {
			places = append(places, f)
		}
	}
	return places
}

// real is where a configured path leads; itself, where that cannot be told.
func (p *Policy) real(path string) string {
	real, err := place.Resolve(p.fs, path)
	if err != nil {
		return filepath.Clean(path)
	}
	return real
}

// Hash is the SHA-256 of the policy's canonical description: two policies with the same hash decide alike.
func (p *Policy) Hash() string { return p.hash() }

// compute does not happen before the first call comes: it is a good part of the gate's start. A description is texts
// and truth values, which always have a canonical form.
func (p *Policy) compute() string {
	raw, err := record.Encode(p.describe())
	if err == nil {
		raw, err = record.Canonical(raw)
	}
	if err != nil {
		return record.HashBytes([]byte(err.Error()))
	}
	return record.HashBytes(raw)
}

// finding is what a rule says about a call or a part of one, before the autonomy level is applied.
type finding struct {
	risk, rule, reason string
	blocked            bool
	part               bool     // the reason names the part of the script that it is about
	obeyed             []string // the files that it writes and other programs obey
}

func low(rule, format string, args ...any) finding {
	return finding{risk: record.RiskLow, rule: rule, reason: fmt.Sprintf(format, args...)}
}

func medium(rule, format string, args ...any) finding {
	return finding{risk: record.RiskMedium, rule: rule, reason: fmt.Sprintf(format, args...)}
}

func high(rule, format string, args ...any) finding {
	return finding{risk: record.RiskHigh, rule: rule, reason: fmt.Sprintf(format, args...)}
}

func blocked(rule, format string, args ...any) finding {
	f := high(rule, format, args...)
	f.blocked = true
	return f
}

// rank orders findings by strictness.
func (f finding) rank() int {
	if f.blocked {
		return 3
	}
	return slices.Index([]string{record.RiskLow, record.RiskMedium, record.RiskHigh}, f.risk)
}

// stricter returns the stricter of two findings, the first where they are equal.
// Of two that are high, the one that a question has to name.
func stricter(a, b finding) finding {
	c := a
	if b.rank() > a.rank() || b.rank() == a.rank() && len(b.obeyed) > 0 && len(a.obeyed) == 0 {
		c = b
	}
	if len(a.obeyed) > 0 && len(b.obeyed) > 0 {
		c.obeyed = joined(a.obeyed, b.obeyed)
	}
	return c
}

// Decide gives the verdict about a call: that of the built-in rules, and then that of the user's own.
func (p *Policy) Decide(c Call) Verdict { return p.DecideFor(context.Background(), c) }

// DecideFor is Decide for somebody who may stop waiting: judging ends then, and the call is denied.
func (p *Policy) DecideFor(ctx context.Context, c Call) Verdict {
	return p.byUserRules(c, p.builtin(ctx, c))
}

func (p *Policy) builtin(ctx context.Context, c Call) Verdict {
	of, known := card.Find(c.Tool)
	if !known {
		return p.unknownTool(c.Tool)
	}
	if !slices.Contains(p.tools, c.Tool) {
		return Verdict{Outcome: Deny, Risk: record.RiskHigh, Rule: "tool.not_allowed",
			Reason: fmt.Sprintf("the tool %+q is not enabled", bounded(c.Tool))}
	}
	f := p.examine(ctx, of, c.Args)
	if f.rule == ruleInvalid {
		f.risk = of.Risk
	}
	return p.apply(c.Tool, f)
}

// bounded cuts a text that a model has chosen for a message.
func bounded(s string) string { return record.Brief(s, 81) }

// apply turns a finding into a verdict by the autonomy level.
func (p *Policy) apply(tool string, f finding) Verdict {
	if !f.blocked && len(f.obeyed) > 1 {
		f.reason += fmt.Sprintf(" (one of %s)", spelling.Count(len(f.obeyed), "such file"))
	}
	v := Verdict{Outcome: Deny, Risk: f.risk, Rule: f.rule, Reason: f.reason, found: f.reason, Obeyed: f.obeyed}
	switch {
	case f.blocked:
	case f.risk == record.RiskLow:
		v.Outcome = Allow
	case p.autonomy == "readonly":
		v.Rule, v.Reason = "autonomy.readonly", "readonly does not allow "+tool+" that is not low risk: "+f.reason
	case p.autonomy == "full" && len(f.obeyed) > 0:
		v.Outcome = Ask // what it leads to happens outside the sandbox
	case p.autonomy == "full":
		v.Outcome = Allow
	case p.autonomy == "supervised" && (f.risk == record.RiskMedium || p.high):
		v.Outcome = Ask
	default:
		v.lifts = p.autonomy == "supervised"
		v.Reason = f.reason + ": the supervised level denies high risk"
	}
	return v
}
