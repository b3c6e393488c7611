package onboard

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/config"
	"clawsh/lib/durable"
)

// ChangeTrust changes the list of trusted directories, one process at a time.
func ChangeTrust(home string, change func(config.Trust) (config.Trust, error)) error {
	lock, err := os.OpenFile(filepath.Join(home, "workspaces.lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|
		syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("lock the trusted directories: %w", err)
	}
	defer lock.Close()
	if err := durable.Flock(lock, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the trusted directories: %w", err)
	}
	t, err := config.ReadTrust(home)
	if err != nil {
		return err
	}
	if t, err = change(t); err != nil {
		return err
	}
	text, err := t.Text()
	if err != nil {
		return err
	}
	return durable.Replace(config.TrustPath(home), text, 0o600)
}
