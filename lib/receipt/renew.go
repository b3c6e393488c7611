package receipt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"clawsh/lib/durable"
)

// RotateKeys makes new keys for the log. The old public key stays to check what it signed, the old key of macs to
// verify the receipts that bear them, and no later ones; the old signing key is gone, and the head is signed by the new
// one. So who has the old keys can make no receipt any more that is believed. Running stages take the new keys with
// their next receipt.
func RotateKeys(dir, log string) (*Keys, error) {
	l, err := OpenLog(log, Options{Keys: dir})
	if err != nil {
		return nil, fmt.Errorf("replace the receipt keys: %w", err)
	}
	err = l.log.Locked(func(e *durable.End) error {
		if err := l.settle(e); err != nil {
			return err
		}
		k := l.keys
		// it may be by a key whose making was interrupted, and that retires now
		if err := replaceHead(log, k, l.now); err != nil {
			return err
		}
		if err := k.renew(l.now.count + 1); err != nil {
			return err
		}
		// A crash behind each step leaves what verifies: a head is good by any key that is in use or not retired.
		if err := k.savePublic(dir); err != nil {
			return err
		}
		if err := replaceHead(log, k, l.now); err != nil {
			return err
		}
		if err := k.save(dir); err != nil {
			return err
		}
		return removeUnfinished(dir)
	})
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, fmt.Errorf("replace the receipt keys: %w", err)
	}
	return l.keys, nil
}

// removeUnfinished removes what replacing of keys left that was interrupted: secret keys may be in it. The log is
// locked.
func removeUnfinished(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, ".receipt.*.tmp-*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
