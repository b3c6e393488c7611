package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// reading opens the receipts of this home, with their older parts.
func reading(cfg *config.Config) (*receipt.Source, error) {
	return opened(receipt.OpenIn(cfg.Receipts.Path, cfg.ReceiptKeysDir()))
}

func opened(src *receipt.Source, err error) (*receipt.Source, error) {
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "receipts.unreadable", "read the receipts: %w", err)
	}
	return src, nil
}

// ownKeys are the keys of this home; nil if there are none.
func ownKeys(cfg *config.Config) (*receipt.Keys, error) { return keysIn(cfg.ReceiptKeysDir()) }

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

// publicKeys are those that the user names: a key, or a file of keys.
func publicKeys(named string) ([]receipt.PublicKey, error) {
	if keys, err := receipt.ParsePublic(named); err == nil {
		return keys, nil
	}
	raw, err := readFile(named)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage",
			"--key: not a public key, and not a readable file of keys: %w", err).
			WithHint("to see the public key, run: claw-receipt keys")
	}
	keys, err := receipt.ParsePublic(string(raw))
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "--key %s: %w", terminal.Escape(named), err).
			WithHint("to see the public key, run: claw-receipt keys")
	}
	return keys, nil
}

// maxFileBytes is more than any proof or file of keys has, and than years of checkpoints: one an hour are 2 MB in a
// year.
const maxFileBytes = 32 << 20

// readFile reads a small file.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSmall(f)
}

func readSmall(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("longer than %d bytes", maxFileBytes)
	}
	return b, err
}

// named reads a file, or standard input for "-".
func named(c *command.Call, path string) ([]byte, error) {
	if path == "-" {
		return readSmall(c.Stdin)
	}
	return readFile(path)
}

// missing refuses to call a log intact that is gone: clawsh init makes it.
func missing(cfg *config.Config) error {
	if _, err := os.Stat(cfg.Receipts.Path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !initialised(cfg) {
		return notInitialised(cfg)
	}
	err := envelope.Errorf(envelope.ExitError, "receipts.missing", "there is no receipt log %s", cfg.Receipts.Path)
	if audit, auditErr := os.Stat(cfg.AuditPath()); auditErr == nil && audit.Size() > 0 {
		return envelope.Errorf(envelope.ExitError, "receipts.missing",
			"there is no receipt log %s, although the gate has decided calls", cfg.Receipts.Path).
			WithHint("compare with %s", cfg.AuditPath())
	}
	return err
}

// moved refuses to begin a log where the configuration says now, as long as the receipts lie where they were: the keys
// are theirs, and a log that begins without its head is one whose receipts are gone.
func moved(cfg *config.Config) error {
	now, before := cfg.Receipts.Path, filepath.Join(cfg.Home, config.ReceiptsName)
	if now == before || !there(filepath.Join(before+".d", "head")) || !there(cfg.ReceiptKeysDir()) ||
		there(filepath.Join(cfg.ReceiptsDir(), "head")) {
		return nil
	}
	if info, err := os.Stat(now); err == nil && info.Size() > 0 {
		return nil // it is looked at as any other log
	}
	clear := ""
	if there(cfg.ReceiptsDir()) {
		clear = "rmdir " + terminal.Escape(cfg.ReceiptsDir()) + " && "
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

// initialised tells whether clawsh init has been there.
func initialised(cfg *config.Config) bool {
	_, err := os.Stat(cfg.KeysDir())
	return !errors.Is(err, fs.ErrNotExist)
}

func notInitialised(cfg *config.Config) error {
	return envelope.Errorf(envelope.ExitConfig, "not_initialised", "clawsh is not set up in %s", cfg.Home).
		WithHint("run: clawsh init")
}
