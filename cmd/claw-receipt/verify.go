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
		return envelope.Errorf(envelope.ExitError, "receipts.unattested", "receipt %d is not attested: %s; the %s",
			v.Lacking, v.Reason, strings.Replace(v.Evidence, "chain", "chain is", 1)).
			WithHint("the log itself was not changed; to see the call, run: clawsh receipt show ID --with-content")
	case v.Chain == receipt.Intact && v.FirstBad > 0:
		what = fmt.Sprintf("invalid receipt %d: ", v.FirstBad)
	case v.Chain == receipt.Intact:
		code, what = "receipts.unproven", "the receipts are not proven: "
	}
	err := envelope.Errorf(envelope.ExitError, code, "%s%s; %s", what, v.Reason, v.Evidence)
	switch {
	case v.Macs == receipt.Broken && v.FirstBad == 1 && v.Chain == receipt.Intact:
		return err.WithHint("if %s is the log of another home, give its public key with --key", v.Log)
	case v.Head == receipt.None && v.Macs == receipt.Valid:
		return err.WithHint("if the head was lost, and a copy or a checkpoint shows that no receipt is missing, run: claw-receipt keys --accept")
	case v.Chain == receipt.Intact && v.Macs == receipt.Valid && v.Checkpoint != receipt.Disagrees &&
		v.Head == receipt.Disagrees:
		return err.WithHint("%s", acceptHint(v.Report))
	case v.FirstBad > 0 && v.Require != receipt.LevelCheckpoint && !v.elsewhere:
		return err.WithHint("restore %s from a copy, from receipt %d on; without a copy, run claw-receipt set-aside, which keeps it and begins a new log", v.Log, v.FirstBad)
	case v.FirstBad > 0:
		return err.WithHint("compare %s with a copy, from receipt %d on", v.Log, v.FirstBad)
	}
	return err.WithHint("claw-receipt verify --help explains the levels")
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	require, against, key, log string
	attested                   bool
}

func verify() command.Command {
	var o verifyOptions
	return command.Command{Name: "verify", Offered: []string{"receipt verify"},
		Summary: "verify the receipt log: chain, MACs, head and checkpoint",
		Long: `Replays the log and checks it against the MAC key, the signed head and, if given, a saved checkpoint.
Reports the first receipt that is not as written, and what has been proven and what has not.

Exit code 0 means that the log reaches the level of --require. Each level includes those before it:

  chain        every receipt is unchanged and in its place
  mac          every receipt was written by someone with the key
  head         no receipt is missing at the end
  checkpoint   the log begins with the receipts that the checkpoint covers

The default is the strongest level your keys allow: head, or checkpoint with --against. For a log without any key
it is chain. The log of a home that has lost its keys does not pass.

Results are counted by who vouches for them: attested (sealed by claw-exec), unattested (made by something else, or
changed on the way), interrupted (written by claw-receipt recover), and those from before results were sealed.`,
		Example: "claw-receipt verify\nclaw-receipt verify --against checkpoint.txt\nclaw-receipt verify --log copy.log --key receipt.pub",
		Flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.require, "require", "",
				"fail unless the log reaches `LEVEL`: chain, mac, head or checkpoint")
			f.BoolVar(&o.attested, "attested", false,
				"fail if a result is unattested, that is, not sealed by claw-exec")
			f.StringVar(&o.against, "against", "", "require the log to extend the checkpoint(s) in `FILE`")
			f.StringVar(&o.key, "key", "",
				"check signatures with the public `KEY`, or with the keys in a file; do not check MACs")
			f.StringVar(&o.log, "log", "",
				"verify the log in `FILE`, and its parts beside it, instead of this home's log")
		},
		Access: func(c *command.Call, cfg *config.Config) confine.Access {
			return files(looking(c, cfg), o.against, o.key, o.log, o.log+".d")
		},
		Run: func(_ context.Context, c *command.Call) (command.Result, error) { return o.run(c) },
	}
}

func (o *verifyOptions) run(c *command.Call) (command.Result, error) {
	if o.require != "" && !slices.Contains(receipt.Levels, o.require) {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--require %s: want %s", terminal.Escape(o.require),
			strings.Join(receipt.Levels, ", "))
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
		return nil, envelope.Errorf(envelope.ExitError, "checkpoint.wrong", "verify against %s: %w",
			terminal.Escape(o.against), err)
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
			return envelope.Errorf(envelope.ExitError, "receipts.missing", "there is no receipt log %s",
				terminal.Escape(o.log))
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
		err = envelope.Errorf(envelope.ExitConfig, "key.unavailable",
			"there are no receipt keys in %s: only the chain could be checked", cfg.ReceiptKeysDir()).
			WithHint("if there never were any, clawsh init creates them and adopts the existing receipts; --require chain checks only the chain")
	}
	return t, err
}
