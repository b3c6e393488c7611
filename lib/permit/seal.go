package permit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// sealDomain separates seals from permits and all other signatures.
const sealDomain = "clawsh seal v1\n"

// SealField is the field of a tool_result with its seal.
const SealField = "seal"

// Reasons for which a result counts as unattested; test with errors.Is.
var (
	ErrUnsealed = errors.New("it has no seal of claw-exec")
	ErrChanged  = errors.New("it was changed after claw-exec sealed it")
	ErrStranger = errors.New("it was sealed with a key that is not accepted here")
	ErrBadSeal  = errors.New("its seal is damaged")
)

// Seal is claw-exec's statement that it made a result exactly as it is. Its text in the record is
// "v1.CLAIMS.SIGNATURE", like that of a permit.
type Seal struct {
	V string `json:"v"`
	// ID is unique to this result. A receipt without a decision is named after it.
	ID string `json:"id"`
	// AuditID is that of the decision whose permit this result used up, or arrived too late with; otherwise empty.
	AuditID string `json:"audit_id"`
	CallID  string `json:"call_id"`
	Status  string `json:"status"`
	// RecordHash is the record's fingerprint without the seal.
	RecordHash string `json:"record_hash"`
	// Executor names the key that signed.
	Executor string `json:"executor"`
	SealedAt string `json:"sealed_at"`
}

// Sealer seals results with the private key of a home's claw-exec.
type Sealer struct {
	key ed25519.PrivateKey
	id  string
}

// ID names the key: the first 16 hex digits of the public key's SHA-256.
func (s *Sealer) ID() string { return s.id }

// Public returns the public key as a line of text, for claw-receipt accept on another host.
func (s *Sealer) Public() string { return publicLine(sealPubLabel, s.key.Public().(ed25519.PublicKey)) }

// Seal returns the bytes of a tool_result with a seal added. auditID is that of the decision that the result is
// about.
func (s *Sealer) Seal(raw []byte, auditID string) ([]byte, error) {
	line, err := record.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("seal a result: %w", err)
	}
	hash, err := line.Fingerprint(SealField)
	if err != nil {
		return nil, fmt.Errorf("seal a result: %w", err)
	}
	text, err := signText(s.key, sealDomain,
		Seal{V: "1", ID: record.NewID("seal-"), AuditID: auditID, CallID: line.ID(), Status: line.Text("status"),
			RecordHash: hash, Executor: s.id, SealedAt: record.Now()})
	if err != nil {
		return nil, fmt.Errorf("seal a result: %w", err)
	}
	return line.With(record.Field{Name: SealField, Value: text})
}

// Executors are the accepted public keys of claw-exec: the files ID.pub in a directory. They are read for each seal:
// once a file is removed, running programs reject its seals, too.
type Executors struct{ dir string }

// NewExecutors returns the keys in the directory.
func NewExecutors(dir string) *Executors { return &Executors{dir} }

// Open checks the seal of a result. The error is one of the four above.
func (x *Executors) Open(line record.Line) (Seal, error) {
	if _, ok := line.Field(SealField); !ok {
		return Seal{}, ErrUnsealed
	}
	raw, sig, err := split(line.Text(SealField))
	if err != nil {
		return Seal{}, ErrBadSeal
	}
	var s Seal
	if err := record.Decode(raw, &s); err != nil || s.V != "1" {
		return Seal{}, ErrBadSeal
	}
	key, err := x.key(s.Executor)
	if err != nil {
		return Seal{}, err
	}
	if !ed25519.Verify(key, append([]byte(sealDomain), raw...), sig) {
		return Seal{}, ErrBadSeal
	}
	hash, err := line.Fingerprint(SealField)
	if err != nil || hash != s.RecordHash || s.CallID != line.ID() || s.Status != line.Text("status") {
		return Seal{}, ErrChanged
	}
	return s, nil
}

// key returns the accepted key of that name.
func (x *Executors) key(id string) (ed25519.PublicKey, error) {
	if !IsID(id) {
		return nil, ErrBadSeal
	}
	key, err := readKey(filepath.Join(x.dir, id+".pub"), sealPubLabel, 0o022, ed25519.PublicKeySize)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w (executor %s)", ErrStranger, id)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if homeID(key) != id {
		return nil, fmt.Errorf("%w: the key in %s.pub is a different one", ErrStranger, id)
	}
	return key, nil
}

// Accept adds a public key, as returned by Sealer.Public, to the directory, and returns its name.
func (x *Executors) Accept(text string) (id string, err error) {
	first, _, _ := strings.Cut(text, "\n")
	key, err := parseKey(first, sealPubLabel, ed25519.PublicKeySize)
	if err != nil {
		return "", errors.New("it is not the public key of a claw-exec")
	}
	id = homeID(key)
	return id, putPublic(x.dir, id, sealPubLabel, key)
}

// putPublic writes a public key to the directory, under its name.
func putPublic(dir, id, label string, key ed25519.PublicKey) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the public key: %w", err)
	}
	return durable.Replace(filepath.Join(dir, id+".pub"), []byte(publicLine(label, key)+"\n"), 0o644)
}

// IsID reports whether a text is the name of a key and therefore safe in a path.
func IsID(s string) bool { return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == "" }
