// Package receiptlog is the receipt log of a home, as claw-receipt keeps it: it opens the log with its parts and keys,
// verifies, shows and proves it, replaces what is damaged, and words what was found and what to do about it.
package receiptlog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// Log is the receipt log of one home.
type Log struct{ cfg *config.Config }

// Of is the receipt log of the home that a configuration names.
func Of(cfg *config.Config) Log { return Log{cfg} }

// Result is what was done or found, to be shown. Its exported fields are its JSON form.
type Result interface{ WriteText(w io.Writer) error }

// path is where the log is.
func (l Log) path() string { return l.cfg.Receipts.Path }

// options are how the log is kept.
func (l Log) options() receipt.Options {
	return receipt.Options{Keys: l.cfg.ReceiptKeysDir(), RotateBytes: l.cfg.Receipts.RotateBytes}
}

// Writer opens the log for writing.
func (l Log) Writer() (*receipt.Log, error) {
	if err := l.Moved(); err != nil {
		return nil, err
	}
	log, err := receipt.OpenLog(l.path(), l.options())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "open the receipt log: %w", err).
			WithHint("run: clawsh init")
	}
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "receipts.unavailable", "open the receipt log: %w", err)
	}
	return log, nil
}

// open opens the receipts for reading, with their older parts.
func (l Log) open() (*receipt.Source, error) {
	return opened(receipt.OpenIn(l.path(), l.cfg.ReceiptKeysDir()))
}

func opened(src *receipt.Source, err error) (*receipt.Source, error) {
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "receipts.unreadable", "read the receipts: %w", err)
	}
	return src, nil
}

// with gives use the receipts and the keys, which there must be.
func (l Log) with(use func(src *receipt.Source, k *receipt.Keys) error) error {
	src, err := l.open() // before the keys: those of a receipt that is there are then there as well
	if err != nil {
		return err
	}
	defer src.Close()
	k, err := l.signing()
	if err != nil {
		return err
	}
	return use(src, k)
}

// keys are the keys of the home; nil if there are none.
func (l Log) keys() (*receipt.Keys, error) { return keysIn(l.cfg.ReceiptKeysDir()) }

func keysIn(dir string) (*receipt.Keys, error) {
	k, err := receipt.LoadKeys(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitConfig, "key.unavailable", "load the receipt keys: %w", err)
	}
	return k, nil
}

// signing are the keys, which there must be.
func (l Log) signing() (*receipt.Keys, error) {
	k, err := l.keys()
	if err == nil && k == nil {
		err = envelope.Errorf(envelope.ExitConfig, "key.unavailable", "there are no receipt keys in %s",
			l.cfg.ReceiptKeysDir()).WithHint("run: clawsh init")
	}
	return k, err
}

// Ready refuses a home that clawsh init has not made.
func (l Log) Ready() error {
	if _, err := os.Stat(l.cfg.KeysDir()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return envelope.Errorf(envelope.ExitConfig, "not_initialised", "clawsh is not set up in %s", l.cfg.Home).
		WithHint("run: clawsh init")
}

// present refuses to call a log intact that is gone: clawsh init makes it.
func (l Log) present() error {
	if _, err := os.Stat(l.path()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := l.Ready(); err != nil {
		return err
	}
	if audit, err := os.Stat(l.cfg.AuditPath()); err == nil && audit.Size() > 0 {
		return envelope.Errorf(envelope.ExitError, "receipts.missing",
			"there is no receipt log %s, although the gate has decided calls", l.path()).
			WithHint("compare with %s", l.cfg.AuditPath())
	}
	return envelope.Errorf(envelope.ExitError, "receipts.missing", "there is no receipt log %s", l.path())
}

// Moved refuses to begin a log where the configuration says now, as long as the receipts lie where they were: the keys
// are theirs, and a log that begins without its head is one whose receipts are gone.
func (l Log) Moved() error {
	now, before := l.path(), filepath.Join(l.cfg.Home, config.ReceiptsName)
	if now == before || !there(filepath.Join(before+".d", "head")) || !there(l.cfg.ReceiptKeysDir()) ||
		there(filepath.Join(l.cfg.ReceiptsDir(), "head")) {
		return nil
	}
	if info, err := os.Stat(now); err == nil && info.Size() > 0 {
		return nil // it is looked at as any other log
	}
	clear := ""
	if there(l.cfg.ReceiptsDir()) {
		clear = "rmdir " + terminal.Escape(l.cfg.ReceiptsDir()) + " && "
	}
	return envelope.Errorf(envelope.ExitConfig, "receipts.moved", "receipts.path is %s, but the receipts are in %s",
		terminal.Escape(now), terminal.Escape(before)).
		WithHint("move them, with their head and parts: mkdir -p %s && %smv %s %s && mv %s.d %s.d",
			terminal.Escape(filepath.Dir(now)), clear,
			terminal.Escape(before), terminal.Escape(now), terminal.Escape(before), terminal.Escape(now))
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
