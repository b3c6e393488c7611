package receiptlog

import (
	"fmt"
	"io"

	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Proven is the receipt that a proof is about.
type Proven struct {
	Origin  string          `json:"origin"`
	Count   int             `json:"count"`
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Retired string          `json:"retired_at,omitzero"`
}

// WriteText says what is proven, and by which key.
func (r Proven) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "proven: this is receipt %d of the first %s of the log %s\n", r.Number,
		spelling.Count(r.Count, "receipt"), terminal.Escape(r.Origin))
	writeRetired(w, r.Retired)
	fmt.Fprintln(w)
	return writeReceipt(w, r.Number, r.Receipt)
}

// Consistent is what a proof of consistency is about.
type Consistent struct {
	Origin   string `json:"origin"`
	OldCount int64  `json:"old_count"`
	OldRoot  string `json:"old_root"`
	Count    int64  `json:"count"`
	Root     string `json:"root"`
	Retired  string `json:"retired_at,omitzero"`
}

// WriteText says what is proven, and by which key.
func (r Consistent) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "proven: the log %s, of %s, begins with the %d of the older checkpoint\n", terminal.Escape(r.Origin),
		spelling.Count(r.Count, "receipt"), r.OldCount)
	writeRetired(w, r.Retired)
	_, err := fmt.Fprintf(w, "\nolder root       %s\nnewer root       %s\n", r.OldRoot, r.Root)
	return err
}

func writeRetired(w io.Writer, at string) {
	if at != "" {
		fmt.Fprintf(w, "signed with a key retired on %s; if that key has leaked, the proof may be forged\n",
			terminal.Escape(at))
	}
}

// CheckProof is what the proof in a file, or in in for "-", proves by a public key, or a file of keys. kept is a file
// with a checkpoint that the proof must be for.
func CheckProof(path string, in io.Reader, key, kept string) (Result, error) {
	keys, err := publicKeys(key)
	if err != nil {
		return nil, err
	}
	raw, err := ReadFile(path, in)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitUsage, "usage", "read the proof: %w", err)
	}
	against, err := readCheckpoint(kept)
	if err != nil {
		return nil, err
	}
	check := checkOne
	if receipt.IsConsistency(raw) {
		check = checkConsistency
	}
	r, err := check(raw, keys, against)
	if err != nil {
		return nil, envelope.Errorf(envelope.ExitError, "proof.wrong", "check the proof: %w", err)
	}
	return r, nil
}

func checkOne(raw []byte, keys []receipt.PublicKey, against []byte) (Result, error) {
	p, n, err := receipt.CheckProof(raw, keys)
	if err == nil && against != nil {
		err = receipt.Kept(against, keys, p.Tree)
	}
	if err != nil {
		return nil, err
	}
	return Proven{Origin: p.Origin, Count: n, Number: p.Number, Receipt: p.Receipt, Retired: p.RetiredAt}, nil
}

func checkConsistency(raw []byte, keys []receipt.PublicKey, against []byte) (Result, error) {
	p, err := receipt.CheckConsistency(raw, keys)
	if err == nil && against != nil {
		err = receipt.Kept(against, keys, p.Old)
	}
	if err != nil {
		return nil, err
	}
	return Consistent{p.Origin, p.Old.N, p.Old.Hash.String(), p.New.N, p.New.Hash.String(), p.RetiredAt}, nil
}
