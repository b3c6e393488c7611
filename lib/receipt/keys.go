package receipt

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"clawsh/lib/durable"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

const (
	keysLabel = "clawsh-receipt-keys-v1"
	macDomain = "clawsh receipt mac v1\n"
	macBytes  = 32
)

// PublicKey is a key by which heads, checkpoints and proofs are checked, in the form of a signed note's verifier key
// (NAME+HASH+KEY, https://c2sp.org/signed-note). RetiredAt is set once another has taken its place.
type PublicKey struct {
	Key       string `json:"key"`
	RetiredAt string `json:"retired_at,omitzero"`
}

// Keys are what receipts are sealed with: a key for macs and one for signatures, and those that they replaced.
type Keys struct {
	// Origin names the log: the name of its keys, and the first line of its checkpoints. It stays when keys are
	// replaced.
	Origin string
	// Adopted is how many receipts there were already when the first key was made: they have no mac. AdoptedHash is the
	// hash of the last of them.
	Adopted     int
	AdoptedHash string
	// Public are the keys to check signatures with, the one in use first.
	Public []PublicKey

	signer note.Signer
	secret string
	macs   []macKey // the oldest first
}

// macKey is a MAC key, and the number of the first receipt with its MAC.
type macKey struct {
	key  []byte
	from int
}

// keyFiles returns the names of the two files in the key directory.
func keyFiles(dir string) (secret, public string) {
	return filepath.Join(dir, "receipt.key"), filepath.Join(dir, "receipt.pub")
}

// CreateKeys makes receipt.key (0600) and receipt.pub (0644) in the directory (0700) for the log, if they are
// missing; made tells whether it did. Receipts already in the log are verified and adopted: they have no MAC, all
// later ones must have one. A log with MACs or a head has lost its key: that is an error.
func CreateKeys(dir, log string) (made bool, err error) { return CreateKeysAfter(dir, log, Past{}) }

// Past is what the gate did before there were keys; Audit is its log. If the gate has released calls, there were
// receipts and keys: if both are missing, that is ErrLost, unless the operator says that they are Lost. Then none of
// these calls is reported as interrupted.
type Past struct {
	Audit string
	Lost  bool
}

// CreateKeysAfter is CreateKeys for a home whose gate may have worked before.
func CreateKeysAfter(dir, log string, past Past) (made bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("create the receipt keys: %w", err)
	}
	secret, _ := keyFiles(dir)
	if _, err := os.Lstat(secret); err == nil {
		_, err := LoadKeys(dir)
		return false, err
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("create the receipt keys: %w", err)
	}
	l, err := durable.OpenLog(log, 0o600)
	if err != nil {
		return false, fmt.Errorf("create the receipt keys: %w", err)
	}
	defer l.Close()
	err = l.Locked(func(*durable.End) error { // of two processes that do this at once, one does
		if _, err := os.Lstat(secret); err == nil {
			return nil
		}
		made = true
		return createKeys(dir, log, past)
	})
	if err != nil {
		return false, fmt.Errorf("create the receipt keys: %w", err)
	}
	return made, nil
}

// createKeys does it; the log is locked.
func createKeys(dir, log string, past Past) error {
	src, err := open(log, false)
	if err != nil {
		return err
	}
	defer src.Close()
	rep, err := Verify(src, Trust{})
	switch {
	case err != nil:
		return err
	case rep.Chain != Intact:
		return fmt.Errorf("%s: invalid chain at receipt %d: %s", log, rep.FirstBad, rep.Reason)
	case rep.Macs != None || rep.Count > 0 && hasHead(log):
		return fmt.Errorf("%s was sealed with a key that is now missing: restore %s, or move the log away", log, dir)
	}
	if err := past.check(log, rep.Count); err != nil {
		return err
	}
	k := &Keys{Origin: newOrigin(), Adopted: rep.Count, AdoptedHash: rep.LastHash}
	if err := k.renew(rep.Count + 1); err != nil {
		return err
	}
	// The head first: a log with a key and no head has been tampered with.
	if err := os.MkdirAll(sideDir(log), 0o700); err != nil {
		return err
	}
	if err := replaceHead(log, k, head{rep.Count, rep.LastHash, rep.bytes}); err != nil {
		return err
	}
	if err := k.savePublic(dir); err != nil {
		return err
	}
	if past.Lost {
		if err := (&Log{path: log, keys: k}).settleAll(src, past.Audit); err != nil {
			return err
		}
	}
	return k.save(dir)
}

// newOrigin is the name of a new log.
func newOrigin() string {
	var id [8]byte
	rand.Read(id[:])
	return "clawsh/receipts/" + hex.EncodeToString(id[:])
}

// check refuses to begin a log where there must have been one. A log that has receipts, of a time without keys, is one.
func (p Past) check(log string, receipts int) error {
	if p.Audit == "" || p.Lost || receipts > 0 {
		return nil
	}
	f, err := openPart(p.Audit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	released, _, err := decisions(f, 0)
	if err == nil && len(released) > 0 {
		err = fmt.Errorf("%w: the gate had allowed %s by %s, but %s has no receipt and no key", ErrLost,
			spelling.Count(len(released), "call"), p.Audit, log)
	}
	return err
}

// renew makes new keys, for receipts from a number on; those in use retire.
func (k *Keys) renew(from int) error {
	secret, public, err := note.GenerateKey(rand.Reader, k.Origin)
	if err != nil {
		return err
	}
	if k.signer, err = note.NewSigner(secret); err != nil {
		return err
	}
	for i := range k.Public { // those whose making was interrupted, too
		k.Public[i].RetiredAt = cmp.Or(k.Public[i].RetiredAt, record.Now())
	}
	mac := make([]byte, macBytes)
	rand.Read(mac)
	k.secret, k.Public, k.macs = secret, append([]PublicKey{{Key: public}}, k.Public...),
		append(k.macs, macKey{mac, from})
	return nil
}

// maxPublicBytes is less than durable.ReadPrivate reads: keys that cannot be read any more are lost.
const maxPublicBytes = 60 << 10

// savePublic writes the public file. It comes first: a crash before save leaves a public key that signs nothing, or the
// head.
func (k *Keys) savePublic(dir string) error { return savePublic(dir, k.Public) }

// savePublicWith is savePublic for keys of a new log, whose secret file is still that of the old one.
func (k *Keys) savePublicWith(dir string, old *Keys) error {
	all := slices.Clone(k.Public)
	for _, p := range old.Public {
		all = append(all, PublicKey{p.Key, cmp.Or(p.RetiredAt, record.Now())})
	}
	return savePublic(dir, all)
}

func savePublic(dir string, public []PublicKey) error {
	_, path := keyFiles(dir)
	var pub strings.Builder
	for _, p := range public {
		pub.WriteString(strings.TrimSpace(p.Key+" "+p.RetiredAt) + "\n")
	}
	if pub.Len() > maxPublicBytes {
		return fmt.Errorf("%d keys were already replaced: %s would become too long", len(public)-1, path)
	}
	return durable.Replace(path, []byte(pub.String()), 0o644)
}

// save writes the secret file.
func (k *Keys) save(dir string) error {
	path, _ := keyFiles(dir)
	var sec strings.Builder
	fmt.Fprintf(&sec, "%s\nadopted %d %s\nsign %s\n", keysLabel, k.Adopted, k.AdoptedHash, k.secret)
	for _, m := range k.macs {
		fmt.Fprintf(&sec, "mac %s %d\n", base64.StdEncoding.EncodeToString(m.key), m.from)
	}
	return durable.Replace(path, []byte(sec.String()), 0o600)
}

// LoadKeys reads the keys in the directory. Files that others could have read, or written, are refused, and so are
// links and files of somebody else. If there are none the error is fs.ErrNotExist.
func LoadKeys(dir string) (*Keys, error) {
	secretPath, publicPath := keyFiles(dir)
	raw, err := durable.ReadPrivate(secretPath, 0o077)
	if err != nil {
		return nil, err
	}
	k := &Keys{}
	if err := k.parse(string(raw)); err != nil {
		return nil, fmt.Errorf("key %s is damaged: %w", secretPath, err)
	}
	// that is not the same as no keys: none are to be made
	if k.Public, err = LoadPublic(publicPath); errors.Is(err, fs.ErrNotExist) {
		return nil,
			fmt.Errorf("%s is missing, but %s exists: restore it, because older signatures cannot be checked without it", publicPath, secretPath)
	} else if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(k.Public, func(p PublicKey) bool {
		v, err := note.NewVerifier(p.Key)
		return err == nil && v.Name() == k.signer.Name() && v.KeyHash() == k.signer.KeyHash()
	})
	if i < 0 {
		return nil, fmt.Errorf("%s does not hold the public key of %s", publicPath, secretPath)
	}
	// retired only by replacing that was interrupted, and did not come about
	inUse := PublicKey{Key: k.Public[i].Key}
	k.Public = slices.Insert(slices.Delete(k.Public, i, i+1), 0, inUse) // else it is one whose making was interrupted
	k.Origin = k.signer.Name()
	k.Public = slices.DeleteFunc(k.Public, func(p PublicKey) bool { // of another log: setting one aside was interrupted
		name, _, _ := strings.Cut(p.Key, "+")
		return name != k.Origin
	})
	return k, nil
}

// parse reads the secret file. Its errors quote nothing.
func (k *Keys) parse(text string) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 4 || lines[0] != keysLabel {
		return errors.New("unknown format")
	}
	for i, l := range lines[1:] {
		name, value, _ := strings.Cut(l, " ")
		var err error
		switch name {
		case "adopted":
			count, hash, _ := strings.Cut(value, " ")
			k.Adopted, err = strconv.Atoi(count)
			if k.AdoptedHash = hash; !isHash([]byte(hash)) || k.Adopted < 0 {
				err = errors.New("no hash")
			}
		case "sign":
			k.secret = value
			k.signer, err = note.NewSigner(value)
		case "mac":
			var m macKey
			text, from, _ := strings.Cut(value, " ")
			if m.key, err = base64.StdEncoding.Strict().DecodeString(text); err == nil {
				m.from, err = strconv.Atoi(from)
			}
			if k.macs = append(k.macs, m); len(m.key) != macBytes || m.from < 1 {
				err = errors.New("too short, or for no receipt")
			}
		default:
			err = errors.New("unknown")
		}
		if err != nil {
			return fmt.Errorf("line %d", i+2)
		}
	}
	if k.signer == nil || len(k.macs) == 0 || k.AdoptedHash == "" {
		return errors.New("a key is missing")
	}
	return nil
}

// LoadPublic reads a file of public keys, one a line, the time of its retirement behind one that is retired. It must
// not be writable by others.
func LoadPublic(path string) ([]PublicKey, error) {
	raw, err := durable.ReadPrivate(path, 0o022)
	if err != nil {
		return nil, err
	}
	return ParsePublic(string(raw))
}

// ParsePublic reads public keys as LoadPublic does. A key that comes twice, as in an older file and a newer one behind
// each other, is one, and retired if it is in one of them.
func ParsePublic(text string) ([]PublicKey, error) {
	var keys []PublicKey
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		key, retired, _ := strings.Cut(strings.TrimSpace(l), " ")
		if _, err := note.NewVerifier(key); err != nil {
			return nil, fmt.Errorf("public key, line %d: want NAME+HASH+KEY", i+1)
		}
		if at := slices.IndexFunc(keys, func(p PublicKey) bool { return p.Key == key }); at >= 0 {
			keys[at].RetiredAt = cmp.Or(keys[at].RetiredAt, retired)
			continue
		}
		keys = append(keys, PublicKey{key, retired})
	}
	return keys, nil
}

// verifiers are the public keys as notes are opened with them.
func verifiers(keys []PublicKey) (note.Verifiers, error) {
	var list []note.Verifier
	for _, k := range keys {
		v, err := note.NewVerifier(k.Key)
		if err != nil {
			return nil, fmt.Errorf("public key: %w", err)
		}
		list = append(list, v)
	}
	return note.VerifierList(list...), nil
}

// keyOf returns the index of the MAC key for a receipt's number; -1 if the receipt is older than all keys.
func (k *Keys) keyOf(number int) int {
	i := len(k.macs) - 1
	for i >= 0 && k.macs[i].from > number {
		i--
	}
	return i
}

// Seals tells whether the receipt of that number is sealed by the key in use: not by one that it replaced, nor by none.
func (k *Keys) Seals(number int) bool { return k.keyOf(number) == len(k.macs)-1 }

// mac is the code of a receipt's hash, in hex, by the key in use.
func (k *Keys) mac(receiptHash string) string {
	return macBy(k.macs[len(k.macs)-1].key, receiptHash)
}

func macBy(key []byte, receiptHash string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(macDomain + receiptHash))
	return hex.EncodeToString(m.Sum(nil))
}
