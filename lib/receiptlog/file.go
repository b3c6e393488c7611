package receiptlog

import (
	"fmt"
	"io"
	"os"

	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// maxFileBytes is more than any proof or file of keys has, and than years of checkpoints: one an hour are 2 MB in a
// year.
const maxFileBytes = 32 << 20

// ReadFile reads a small file, or in for "-".
func ReadFile(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		return readSmall(in)
	}
	return readFile(path)
}

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

// readCheckpoint reads a file of checkpoints; nil without one.
func readCheckpoint(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	b, err := readFile(path)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the checkpoint: %w", err)
	}
	return b, nil
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
