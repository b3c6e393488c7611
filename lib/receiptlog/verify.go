package receiptlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Question is what is asked about a log; empty fields ask nothing.
type Question struct {
	Require  string // the level that it must reach
	Against  string // a file of checkpoints that it must extend
	Key      string // a public key, or a file of them, instead of the home's keys
	Log      string // the log, instead of the home's
	Attested bool   // whether all results must be attested

	// Config says where the home is. It is not asked for a log of one's own with a key.
	Config func() (*config.Config, error)
}

// Verdict is what was found about a log.
type Verdict struct {
	Log string `json:"log"`
	receipt.Report

	elsewhere bool // it is not this home's
}

// WriteText says what was found. If it is not enough, the error says it all.
func (v Verdict) WriteText(w io.Writer) error {
	if !v.Valid {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s, last hash %s: %s\n", spelling.Count(v.Count, "receipt"), v.LastHash, v.Evidence)
	return err
}

// failure is what a log is that is not as required.
func (v Verdict) failure() error {
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
	return envelope.Errorf(envelope.ExitError, code, "%s%s; %s", what, v.Reason, v.Evidence).WithHint("%s", v.hint())
}

// hint says what can be done about a log that is not as required.
func (v Verdict) hint() string {
	switch intact, valid := v.Chain == receipt.Intact, v.Macs == receipt.Valid; {
	case v.Macs == receipt.Broken && v.FirstBad == 1 && intact:
		return fmt.Sprintf("if %s is the log of another home, give its public key with --key", v.Log)
	case v.Head == receipt.None && valid:
		return "if the head was lost, and a copy or a checkpoint shows that no receipt is missing, run: claw-receipt keys --accept"
	case intact && valid && v.Checkpoint != receipt.Disagrees && v.Head == receipt.Disagrees:
		return acceptHint(v.Report)
	case v.FirstBad > 0 && v.Require != receipt.LevelCheckpoint && !v.elsewhere:
		return fmt.Sprintf("restore %s from a copy, from receipt %d on; without a copy, run claw-receipt set-aside, which keeps it and begins a new log", v.Log, v.FirstBad)
	case v.FirstBad > 0:
		return fmt.Sprintf("compare %s with a copy, from receipt %d on", v.Log, v.FirstBad)
	}
	return "claw-receipt verify --help explains the levels"
}

// Verify verifies a log. A log that is not as required is an error, with the verdict; other errors have none.
func (q Question) Verify() (*Verdict, error) {
	log, err := q.locate()
	if err != nil {
		return nil, err
	}
	v, err := q.verify(log)
	if errors.Is(err, receipt.ErrCheckpoint) {
		return nil, unproven("verify against "+terminal.Escape(q.Against), err)
	}
	if err != nil {
		return nil, err
	}
	if !v.Valid {
		return &v, v.failure()
	}
	return &v, nil
}

// verify verifies the log; once more if it may be that keys were replaced meanwhile.
func (q Question) verify(log string) (Verdict, error) {
	v, err := q.look(log)
	if err == nil && !v.Valid && v.Head == receipt.Disagrees {
		return q.look(log)
	}
	return v, err
}

// look verifies the log as it is now.
func (q Question) look(log string) (Verdict, error) {
	v := Verdict{Log: log, elsewhere: q.Log != ""}
	src, err := q.open() // before the keys: those of a receipt that is there are then there as well
	if err != nil {
		return v, err
	}
	defer src.Close()
	trust, err := q.trust()
	if err != nil {
		return v, err
	}
	if v.Report, err = receipt.Verify(src, trust); err != nil && !errors.Is(err, receipt.ErrCheckpoint) {
		err = envelope.Errorf(envelope.ExitError, "receipts.unreadable", "%w", err)
	}
	if !v.elsewhere && trust.Keys != nil && receipt.Unfinished(v.Log, trust.Keys) {
		v.Evidence += ", the note of a set-aside is left: run claw-receipt set-aside again"
	}
	return v, err
}

// open opens the log: this home's, or the named one.
func (q Question) open() (*receipt.Source, error) {
	if q.Log != "" {
		return opened(receipt.Open(q.Log))
	}
	cfg, err := q.Config()
	if err != nil {
		return nil, err
	}
	return Of(cfg).open()
}

// locate finds the log.
func (q Question) locate() (string, error) {
	if q.Log != "" {
		if _, err := os.Stat(q.Log); errors.Is(err, fs.ErrNotExist) {
			return "", envelope.Errorf(envelope.ExitError, "receipts.missing", "there is no receipt log %s",
				terminal.Escape(q.Log))
		}
		return q.Log, nil
	}
	cfg, err := q.Config()
	if err != nil {
		return "", err
	}
	return cfg.Receipts.Path, Of(cfg).present()
}

// trust is what the log is held against.
func (q Question) trust() (t receipt.Trust, err error) {
	t.Require, t.Attested = q.Require, q.Attested
	if t.Against, err = readCheckpoint(q.Against); err != nil {
		return t, err
	}
	if q.Key != "" {
		t.Public, err = publicKeys(q.Key)
		return t, err
	}
	cfg, err := q.Config()
	if err != nil {
		return t, err
	}
	dir := cfg.ReceiptKeysDir()
	if abs, err := filepath.Abs(q.Log); q.Log != "" && err == nil {
		dir = cmp.Or(receipt.AsideKeys(dir, cfg.Receipts.Path, abs), dir)
	}
	if t.Keys, err = keysIn(dir); err == nil && t.Keys == nil && q.Log == "" && q.Require == "" {
		err = envelope.Errorf(envelope.ExitConfig, "key.unavailable",
			"there are no receipt keys in %s: only the chain could be checked", cfg.ReceiptKeysDir()).
			WithHint("if there never were any, clawsh init creates them and adopts the existing receipts; --require chain checks only the chain")
	}
	return t, err
}
