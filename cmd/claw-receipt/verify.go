package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/confine"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

type verifyResult struct {
	Log string `json:"log"`
	receipt.Report

	elsewhere bool // it is not this home's
}

// WriteText says what was found. If it is not enough, the error says it all.
func (v verifyResult) WriteText(w io.Writer) error {
	if !v.Valid {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s, last hash %s: %s\n", spelling.Count(v.Count, "receipt"), v.LastHash, v.Evidence)
	return err
}

// failure is what a log is that is not as required.
func (v verifyResult) failure() error {
	code, what := "receipts.broken", fmt.Sprintf("invalid chain at receipt %d: ", v.FirstBad)
	switch {
	case v.Lacking > 0:
		return envelope.Errorf(envelope.ExitError, "receipts.unattested", "receipt %d is not attested: %s; the %s", v.Lacking, v.Reason, strings.Replace(v.Evidence, "chain", "chain is", 1)).
			WithHint("nothing was changed in the log: see what it was for with clawsh receipt show ID --with-content; without --attested the log passes")
	case v.Chain == receipt.Intact && v.FirstBad > 0:
		what = fmt.Sprintf("invalid receipt %d: ", v.FirstBad)
	case v.Chain == receipt.Intact:
		code, what = "receipts.unproven", "the receipts are not established: "
	}
	err := envelope.Errorf(envelope.ExitError, code, "%s%s; %s", what, v.Reason, v.Evidence)
	switch {
	case v.Macs == receipt.Broken && v.FirstBad == 1 && v.Chain == receipt.Intact:
		return err.WithHint("if %s is another home's log, give its public key: --key", v.Log)
	case v.Head == receipt.None && v.Macs == receipt.Valid:
		return err.WithHint("if the head was lost, and you know by a copy or a checkpoint that no receipt is missing: claw-receipt keys --accept")
	case v.Chain == receipt.Intact && v.Macs == receipt.Valid && v.Checkpoint != receipt.Disagrees && v.Head == receipt.Disagrees:
		return err.WithHint("%s", acceptHint(v.Report))
	case v.FirstBad > 0 && v.Require != receipt.LevelCheckpoint && !v.elsewhere:
		return err.WithHint("restore %s from a copy, from receipt %d on; if there is none: claw-receipt set-aside keeps it and begins a new log", v.Log, v.FirstBad)
	case v.FirstBad > 0:
		return err.WithHint("compare %s with a copy, from receipt %d on", v.Log, v.FirstBad)
	}
	return err.WithHint("claw-receipt verify --help says what is needed for each level")
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	require, against, key, log string
	attested                   bool
}

func verify() command.Command {
	var o verifyOptions
	return command.Command{Name: "verify", Envelope: "receipt verify", Summary: "replay the chain and report the first broken link",
		Long: `Replays the log and holds it against what there is: the key of macs, the signed head, a checkpoint that was kept
elsewhere. It names the first receipt that is not as it was written, and says how far its evidence reaches.

Exit code 0 means that the level of --require is reached: chain (every receipt is in its place), mac (and was written by
somebody with the key), head (and none is missing at the end), checkpoint (and the log begins with what was checkpointed).
Without it, that is what there are keys for: head, or checkpoint with --against; chain without any key. The log of
a home without keys does not pass.

It also counts who vouches for the results: attested (claw-exec sealed it), unattested (somebody else made it, or changed it on the way),
interrupted (claw-receipt recover wrote it), and those written before results were sealed. --attested fails if one is unattested.`,
		Example: "claw-receipt verify\nclaw-receipt verify --against checkpoint.txt\nclaw-receipt verify --log copy.log --key receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.require, "require", "", "what exit code 0 means: `LEVEL` chain, mac, head or checkpoint")
			f.BoolVar(&o.attested, "attested", false, "fail if nobody vouches for a result: claw-exec did not seal it")
			f.StringVar(&o.against, "against", "", "the log must extend the checkpoint in `FILE`, or each of several one behind the other")
			f.StringVar(&o.key, "key", "", "check signatures by the public `KEY`, or those in a file; macs are not checked")
			f.StringVar(&o.log, "log", "", "verify the log in `FILE`, with what lies beside it, instead of this home's")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			return files(looking(c, cfg), o.against, o.key, o.log, o.log+".d")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) { return o.run(c) },
	}
}

func (o *verifyOptions) run(c *command.Call) (command.Result, error) {
	if o.require != "" && !slices.Contains(receipt.Levels, o.require) {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--require %s: want %s", terminal.Escape(o.require), strings.Join(receipt.Levels, ", "))
	}
	for name, value := range map[string]string{"against": o.against, "key": o.key, "log": o.log} {
		if value == "" && c.Changed(name) { // a variable of a script that is not set must not ask for less
			return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--%s is empty", name)
		}
	}
	v := verifyResult{Log: o.log, elsewhere: o.log != ""}
	if err := o.locate(c, &v); err != nil {
		return nil, err
	}
	err := o.held(c, &v)
	if errors.Is(err, receipt.ErrCheckpoint) {
		return nil, envelope.Errorf(envelope.ExitError, "checkpoint.wrong", "verify against %s: %w", terminal.Escape(o.against), err)
	}
	if err != nil {
		return nil, err
	}
	if !v.Valid {
		return v, v.failure()
	}
	return v, nil
}

// held verifies the log; once more if it may be that keys were replaced meanwhile.
func (o *verifyOptions) held(c *command.Call, v *verifyResult) error {
	err := o.look(c, v)
	if err == nil && !v.Valid && v.Head == receipt.Disagrees {
		err = o.look(c, v)
	}
	return err
}

// look verifies the log as it is now.
func (o *verifyOptions) look(c *command.Call, v *verifyResult) error {
	src, err := o.open(c, v.Log) // before the keys: those of a receipt that is there are then there as well
	if err != nil {
		return err
	}
	defer src.Close()
	trust, err := o.trust(c)
	if err != nil {
		return err
	}
	if v.Report, err = receipt.Verify(src, trust); err != nil && !errors.Is(err, receipt.ErrCheckpoint) {
		err = envelope.Errorf(envelope.ExitError, "receipts.unreadable", "%w", err)
	}
	if !v.elsewhere && trust.Keys != nil && receipt.Unfinished(v.Log, trust.Keys) {
		v.Evidence += ", the note of a set-aside is left: run claw-receipt set-aside again"
	}
	return err
}

// open opens the log: this home's, or the named one.
func (o *verifyOptions) open(c *command.Call, log string) (*receipt.Source, error) {
	if o.log != "" {
		return opened(receipt.Open(log))
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return reading(cfg)
}

// locate finds the log. With one of its own and a key, no configuration is needed.
func (o *verifyOptions) locate(c *command.Call, v *verifyResult) error {
	if o.log != "" {
		if _, err := os.Stat(o.log); errors.Is(err, fs.ErrNotExist) {
			return envelope.Errorf(envelope.ExitError, "receipts.missing", "there is no receipt log %s", terminal.Escape(o.log))
		}
		return nil
	}
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	v.Log = cfg.Receipts.Path
	return missing(cfg)
}

// trust is what the log is held against.
func (o *verifyOptions) trust(c *command.Call) (t receipt.Trust, err error) {
	t.Require, t.Attested = o.require, o.attested
	if o.against != "" {
		if t.Against, err = readFile(o.against); err != nil {
			return t, envelope.Errorf(envelope.ExitUsage, "usage", "read the checkpoint: %w", err)
		}
	}
	if o.key != "" {
		t.Public, err = publicKeys(o.key)
		return t, err
	}
	cfg, err := c.Config()
	if err != nil {
		return t, err
	}
	dir := cfg.ReceiptKeysDir()
	if abs, err := filepath.Abs(o.log); o.log != "" && err == nil {
		dir = cmp.Or(receipt.AsideKeys(dir, cfg.Receipts.Path, abs), dir)
	}
	if t.Keys, err = keysIn(dir); err == nil && t.Keys == nil && o.log == "" && o.require == "" {
		err = envelope.Errorf(envelope.ExitConfig, "key.unavailable", "there are no receipt keys in %s: nothing but the chain could be checked", cfg.ReceiptKeysDir()).
			WithHint("if there never were any, clawsh init makes them, and adopts the receipts that are there; --require chain checks the chain alone")
	}
	return t, err
}
