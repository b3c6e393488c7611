// Package permit signs and checks permits, by which the gate allows calls, and seals, by which claw-exec vouches for
// results.
//
// A permit is "v1.CLAIMS.SIGNATURE", both parts in base64url without padding: claims as canonical JSON (RFC 8785),
// and an Ed25519 signature (RFC 8032) over "clawsh permit v1\n" and these bytes. It binds one call: its id,
// conversation and tool, the SHA-256 of its exact argument bytes, risk, decision, policy and the line of the audit
// log. It is good for one use within Lifetime, in the home whose key signed it. Only claw-gate reads the private key;
// claw-exec has the public key and cannot sign permits.
package permit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"clawsh/lib/record"
)

// Lifetime is how long a permit is good.
const Lifetime = 60 * time.Second

// clockSlack is how far a permit's expiry may be beyond Lifetime in the future: clocks step.
const clockSlack = 5 * time.Second

// domain separates these signatures from all others made with Ed25519 keys.
const domain = "clawsh permit v1\n"

// Reasons for refusing a permit; test with errors.Is.
var (
	ErrMalformed = errors.New("the permit is malformed")
	ErrSignature = errors.New("the signature is not the gate's")
	ErrMismatch  = errors.New("the permit is for another call")
	ErrExpired   = errors.New("the permit has expired")
	ErrUsed      = errors.New("the permit was used before")
)

// Claims are the content of a permit. All are texts, so that their canonical form is unambiguous.
type Claims struct {
	V              string `json:"v"`
	CallID         string `json:"call_id"`
	ConversationID string `json:"conversation_id"`
	Tool           string `json:"tool"`
	ArgsSHA256     string `json:"args_sha256"`
	Risk           string `json:"risk"`
	Decision       string `json:"decision"`
	PolicyHash     string `json:"policy_hash"`
	AuditID        string `json:"audit_id"`
	HomeID         string `json:"home_id"`
	Executor       string `json:"executor"` // the claw-exec that may use it; empty: the one of the same home
	ExpiresAt      string `json:"expires_at"`
	Nonce          string `json:"nonce"`
	// Obeyed are the files of the verdict, as a JSON array; empty if there are none.
	Obeyed string `json:"obeyed,omitzero"`
}

// Files returns a list of files as a claim, or "" if there are none.
func Files(names []string) string {
	if len(names) == 0 {
		return ""
	}
	raw, err := record.Encode(names)
	if err != nil {
		return "invalid" // which equals no list
	}
	return string(raw)
}

// NewNonce returns 128 random bits in hex.
func NewNonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Signer signs permits with a home's private key.
type Signer struct {
	secret func() (key ed25519.PrivateKey, home string)
}

// newSigner makes the key of its seed when it is first asked for, which takes as long as the rest of claw-gate's start.
func newSigner(seed []byte) *Signer {
	return &Signer{sync.OnceValues(func() (ed25519.PrivateKey, string) {
		key := ed25519.NewKeyFromSeed(seed)
		return key, homeID(key.Public().(ed25519.PublicKey))
	})}
}

// public is the public key.
func (s *Signer) public() ed25519.PublicKey {
	key, _ := s.secret()
	return key.Public().(ed25519.PublicKey)
}

// Sign returns a permit with the claims. It sets version and home, and a nonce if there is none; ExpiresAt must be in
// record.TimeFormat.
func (s *Signer) Sign(c Claims) (string, error) {
	key, home := s.secret()
	c.V, c.HomeID = "1", home
	if c.Nonce == "" {
		c.Nonce = NewNonce()
	}
	if _, err := time.Parse(record.TimeFormat, c.ExpiresAt); err != nil {
		return "", fmt.Errorf("sign a permit: expiry: %w", err)
	}
	text, err := signText(key, domain, c)
	if err != nil {
		return "", fmt.Errorf("sign a permit: %w", err)
	}
	return text, nil
}

// signText is "v1.CLAIMS.SIGNATURE".
func signText(key ed25519.PrivateKey, domain string, claims any) (string, error) {
	raw, err := record.Encode(claims)
	if err != nil {
		return "", err
	}
	if raw, err = record.Canonical(raw); err != nil {
		return "", err
	}
	sig := ed25519.Sign(key, append([]byte(domain), raw...))
	b := base64.RawURLEncoding
	return "v1." + b.EncodeToString(raw) + "." + b.EncodeToString(sig), nil
}

// Verifier checks permits with a home's public key.
type Verifier struct {
	key  ed25519.PublicKey
	home string
}

// Verify checks that this home's gate signed the permit, that its claims equal want, and that it has not expired at
// now. It does not compare ExpiresAt, Nonce, V and HomeID; it returns the permit's own, even with ErrExpired.
func (v *Verifier) Verify(permit string, want Claims, now time.Time) (Claims, error) {
	var c Claims
	raw, sig, err := split(permit)
	if err != nil {
		return c, err
	}
	if !ed25519.Verify(v.key, append([]byte(domain), raw...), sig) {
		return c, ErrSignature
	}
	if err := record.Decode(raw, &c); err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	want.V, want.HomeID = "1", v.home
	if err := compare(c, want); err != nil {
		return Claims{}, err
	}
	expires, err := time.Parse(record.TimeFormat, c.ExpiresAt)
	switch {
	case err != nil || len(c.Nonce) != nonceBytes:
		return Claims{}, fmt.Errorf("%w: its expiry or nonce", ErrMalformed)
	case !now.Before(expires):
		return c, fmt.Errorf("%w at %s", ErrExpired, c.ExpiresAt)
	case expires.Sub(now) > Lifetime+clockSlack:
		return Claims{}, fmt.Errorf("%w: it would be valid for %s", ErrMalformed, expires.Sub(now).Round(time.Second))
	}
	return c, nil
}

// split splits a permit into its parts and rejects every form but the one that Sign writes.
func split(permit string) (raw, sig []byte, err error) {
	parts := strings.Split(permit, ".")
	if len(parts) != 3 || parts[0] != "v1" || len(permit) > 8192 || strings.ContainsAny(permit, "\r\n") {
		return nil, nil, ErrMalformed
	}
	b := base64.RawURLEncoding.Strict()
	if raw, err = b.DecodeString(parts[1]); err != nil {
		return nil, nil, ErrMalformed
	}
	if sig, err = b.DecodeString(parts[2]); err != nil || len(sig) != ed25519.SignatureSize {
		return nil, nil, ErrMalformed
	}
	return raw, sig, nil
}

// compare names the first claim that differs.
func compare(got, want Claims) error {
	for _, f := range []struct{ name, got, want string }{
		{"version", got.V, want.V}, {"call id", got.CallID, want.CallID},
		{"conversation", got.ConversationID, want.ConversationID},
		{"tool", got.Tool, want.Tool}, {"arguments", got.ArgsSHA256, want.ArgsSHA256}, {"risk", got.Risk, want.Risk},
		{"decision", got.Decision, want.Decision}, {"policy", got.PolicyHash, want.PolicyHash},
		{"audit id", got.AuditID, want.AuditID}, {"executor", got.Executor, want.Executor},
		{"home", got.HomeID, want.HomeID},
		{"list of obeyed files", got.Obeyed, want.Obeyed}} {
		if f.got != f.want {
			return fmt.Errorf("%w: its %s differs", ErrMismatch, f.name)
		}
	}
	return nil
}
