package record

import "slices"

// Fingerprint returns the SHA-256 of the record's canonical form without the named fields, so that the order of
// fields, blanks and the escaping of texts do not matter. If there is no canonical form (ErrNumber), it hashes the
// remaining bytes.
func (l Line) Fingerprint(without ...string) (string, error) {
	all, err := Members(l.raw)
	if err != nil {
		return "", err
	}
	left, err := Object(slices.DeleteFunc(all, func(m Member) bool { return slices.Contains(without, m.Name) }))
	if err != nil {
		return "", err
	}
	if hash, err := Hash(left); err == nil {
		return hash, nil
	}
	return HashBytes(left), nil
}
