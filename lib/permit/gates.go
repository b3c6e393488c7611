package permit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// policyLabel begins a line with the hash of an accepted policy.
const policyLabel = "policy "

// Gates checks permits of the home's own gate and of accepted gates on other hosts. A permit of another host must be
// signed with an accepted key, name a policy accepted with that key, and name this executor, so that it is good in
// one place only. The accepted gates are looked up for each permit: once a gate's file is removed, running programs
// reject its permits, too.
type Gates struct {
	own      *Verifier
	dir      string
	executor string
}

type gate struct {
	verifier *Verifier
	policies []string
}

// LoadGates reads the home's public key, and checks the accepted gates in a directory. executor is the name of this
// claw-exec.
func LoadGates(own, dir, executor string) (*Gates, error) {
	v, err := LoadVerifier(own)
	if err != nil {
		return nil, err
	}
	g := &Gates{v, dir, executor}
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the accepted gates: %w", err)
	}
	for _, n := range names {
		id, ok := strings.CutSuffix(n.Name(), ".pub")
		if !ok || !IsID(id) {
			continue
		}
		if _, err := g.gate(id); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return g, nil
}

// gate returns the accepted gate of that name.
func (g *Gates) gate(id string) (gate, error) {
	path := filepath.Join(g.dir, id+".pub")
	raw, err := durable.ReadPrivate(path, 0o022)
	if err != nil {
		return gate{}, err
	}
	key, policies, err := parseGate(string(raw))
	if err != nil || homeID(key) != id {
		return gate{}, fmt.Errorf("key %s is damaged", path)
	}
	return gate{&Verifier{key, id}, policies}, nil
}

// Verify checks a permit by the key of the gate that it names; see Verifier.Verify.
func (g *Gates) Verify(permit string, want Claims, now time.Time) (Claims, error) {
	home := g.own.home
	if raw, _, err := split(permit); err == nil {
		var c Claims
		if record.Decode(raw, &c) == nil {
			home, want.Executor = c.HomeID, c.Executor // the signature is checked later
		}
	}
	v := g.own
	if home != g.own.home {
		if !IsID(home) {
			return Claims{}, ErrSignature
		}
		other, err := g.gate(home)
		if errors.Is(err, fs.ErrNotExist) {
			return Claims{},
				fmt.Errorf("%w: gate %s is not accepted here: run claw-gate keys on its host, and claw-exec accept on this one", ErrSignature, home)
		}
		if err != nil {
			return Claims{}, fmt.Errorf("%w: %w", ErrSignature, err)
		}
		v = other.verifier
	}
	c, err := v.Verify(permit, want, now)
	if err != nil {
		return c, err
	}
	if c.Executor != g.executor && (c.Executor != "" || !g.Own(c)) {
		return Claims{}, fmt.Errorf("%w: it was not signed for executor %s: run claw-gate with --executor", ErrMismatch,
			g.executor)
	}
	return c, nil
}

// Own reports whether the home's own gate signed.
func (g *Gates) Own(c Claims) bool { return c.HomeID == g.own.home }

// Accepts reports whether a permit's policy was accepted with the key of its gate.
func (g *Gates) Accepts(c Claims) bool {
	if !IsID(c.HomeID) {
		return false
	}
	other, err := g.gate(c.HomeID)
	return err == nil && slices.Contains(other.policies, c.PolicyHash)
}

// PublicText is what another host needs to accept this gate: its public key, and the hash of its policy.
func (s *Signer) PublicText(policy string) string {
	text := publicLine(pubLabel, s.public()) + "\n"
	if policy != "" {
		text += policyLabel + policy + "\n"
	}
	return text
}

// AcceptGate stores the key and the policies of another host's gate in the directory, replacing those accepted
// earlier.
func AcceptGate(dir, text string) (id string, policies []string, err error) {
	key, policies, err := parseGate(text)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("keep the public key: %w", err)
	}
	out := publicLine(pubLabel, key) + "\n"
	for _, p := range policies {
		out += policyLabel + p + "\n"
	}
	id = homeID(key)
	return id, policies, durable.Replace(filepath.Join(dir, id+".pub"), []byte(out), 0o644)
}

// parseGate reads a public key and, on lines of their own, hashes of policies.
func parseGate(text string) (ed25519.PublicKey, []string, error) {
	first, rest, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	key, err := parseKey(first, pubLabel, ed25519.PublicKeySize)
	if err != nil {
		return nil, nil, errors.New("not the public key of a claw-gate; want the output of claw-gate keys")
	}
	var policies []string
	for l := range strings.SplitSeq(rest, "\n") {
		hash, ok := strings.CutPrefix(l, policyLabel)
		if l == "" {
			continue
		}
		if !ok || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
			return nil, nil, errors.New("after the public key of the gate, want lines with the hash of a policy")
		}
		policies = append(policies, hash)
	}
	return key, policies, nil
}
