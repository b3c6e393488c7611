package permit

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/durable"
)

const (
	keyLabel = "clawsh-permit-key-v1 "
	pubLabel = "clawsh-permit-pub-v1 "

	sealLabel    = "clawsh-seal-key-v1 "
	sealPubLabel = "clawsh-seal-pub-v1 "
)

// Create makes permit.key (0600) and permit.pub (0644) in the directory, and the directory itself (0700), if they are
// missing; made reports whether a key was made. An existing key is never replaced. Two processes that call this at
// the same time end up with the same key: the complete private key is linked into place, and the second process takes
// the first one's.
func Create(dir string) (made bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("create the permit key: %w", err)
	}
	if made, err = createKey(filepath.Join(dir, "permit.key"), keyLabel); err != nil {
		return false, fmt.Errorf("create the permit key: %w", err)
	}
	s, err := LoadSigner(dir)
	if err != nil {
		return false, err
	}
	pub := s.public()
	path := filepath.Join(dir, "permit.pub")
	if v, err := LoadVerifier(path); err == nil && v.key.Equal(pub) {
		return made, nil
	}
	// missing, damaged, or of a key that is gone: the private key decides, and no permit outlives a minute
	if _, err := place(path, pubLabel, pub, 0o644, os.Rename); err != nil {
		return made, fmt.Errorf("create the public permit key: %w", err)
	}
	return made, nil
}

// createKey makes a private key, if there is none: of two processes that do this at once, one does.
func createKey(path, label string) (made bool, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	return place(path, label, seed, 0o600, os.Link)
}

// OpenSealer reads seal.key in the directory of claw-exec's own key (0700), and creates it if it is missing; made
// reports whether it did. It adds the public key to the accepted ones in executors.
func OpenSealer(dir, executors string) (s *Sealer, made bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("create the seal key: %w", err)
	}
	path := filepath.Join(dir, "seal.key")
	if made, err = createKey(path, sealLabel); err != nil {
		return nil, false, fmt.Errorf("create the seal key: %w", err)
	}
	seed, err := readKey(path, sealLabel, 0o077, ed25519.SeedSize)
	if err != nil {
		return nil, false, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	pub := key.Public().(ed25519.PublicKey)
	s = &Sealer{key, homeID(pub)}
	if known, err := NewExecutors(executors).key(s.id); err == nil && known.Equal(pub) {
		return s, made, nil
	}
	return s, made, putPublic(executors, s.id, sealPubLabel, pub)
}

// publicLine is the text of a public key.
func publicLine(label string, key ed25519.PublicKey) string {
	return label + base64.StdEncoding.EncodeToString(key)
}

// place writes and syncs a complete labelled key, and then gives it its name: by linking, which fails if the name is
// taken, or by renaming.
func place(path, label string, key []byte, mode fs.FileMode, name func(from, to string) error) (bool, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-")
	if err != nil {
		return false, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(label + base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return false, err
	}
	err = name(f.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// LoadSigner reads permit.key in the directory. It is an error if the key is a link, belongs to somebody else, or can
// be read by others.
func LoadSigner(dir string) (*Signer, error) {
	seed, err := readKey(filepath.Join(dir, "permit.key"), keyLabel, 0o077, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return newSigner(seed), nil
}

// LoadVerifier reads the public key. It must not be writable by others.
func LoadVerifier(path string) (*Verifier, error) {
	pub, err := readKey(path, pubLabel, 0o022, ed25519.PublicKeySize)
	if err != nil {
		return nil, err
	}
	return &Verifier{pub, homeID(pub)}, nil
}

// readKey reads a labelled key, on which others must not have the rights in forbidden. Errors never quote it.
func readKey(path, label string, forbidden fs.FileMode, size int) ([]byte, error) {
	b, err := durable.ReadPrivate(path, forbidden)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(string(b), label, size)
	if err != nil {
		return nil, fmt.Errorf("key %s is damaged", path)
	}
	return key, nil
}

// parseKey reads a line with a labelled key.
func parseKey(line, label string, size int) ([]byte, error) {
	text, labelled := strings.CutPrefix(strings.TrimSuffix(line, "\n"), label)
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || !labelled || len(key) != size {
		return nil, errors.New("it is not such a key")
	}
	return key, nil
}

// homeID derives the name of a home from its public key.
func homeID(pub ed25519.PublicKey) string {
	sum := sha256.Sum256(pub)
	return hex.EncodeToString(sum[:8])
}
