package receiptlog

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"clawsh/lib/envelope"
	"clawsh/lib/receipt"
	"clawsh/lib/terminal"
)

// Checkpoint is a signed checkpoint of the log.
type Checkpoint struct {
	Origin     string `json:"origin"`
	Count      int    `json:"count"`
	LastHash   string `json:"last_hash"`
	Checkpoint string `json:"checkpoint"`
	// Consistency is the proof that the log extends an older checkpoint, if that was asked for.
	Consistency string `json:"consistency,omitzero"`
}

// WriteText writes the checkpoint as it is kept.
func (r Checkpoint) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, cmp.Or(r.Consistency, r.Checkpoint))
	return err
}

// Checkpoint signs a checkpoint of the log.
func (l Log) Checkpoint() (r Checkpoint, err error) {
	if err := l.present(); err != nil {
		return r, err
	}
	err = l.with(func(src *receipt.Source, k *receipt.Keys) error {
		signed, rep, err := receipt.Checkpoint(src, k)
		if err == nil && signed == nil {
			err = Verdict{Log: l.path(), Report: rep}.failure()
		}
		r = Checkpoint{Origin: k.Origin, Count: rep.Count, LastHash: rep.LastHash, Checkpoint: string(signed)}
		return err
	})
	return r, err
}

// Extending is Checkpoint, with the proof that the log extends the checkpoint in a file.
func (l Log) Extending(path string) (Checkpoint, error) {
	r, err := l.Checkpoint()
	if err != nil {
		return r, err
	}
	old, err := readFile(path)
	if err != nil {
		return r, envelope.Errorf(envelope.ExitUsage, "usage", "read the checkpoint: %w", err)
	}
	err = l.with(func(src *receipt.Source, k *receipt.Keys) error {
		p, err := receipt.ProveConsistency(src, receipt.Trust{Keys: k, Public: k.Public,
			Against: slices.Concat(old, []byte("\n"), []byte(r.Checkpoint))})
		if err != nil {
			return unproven("prove consistency with "+terminal.Escape(path), err,
				"run claw-receipt verify --against "+terminal.Escape(path))
		}
		r.Consistency = string(p.Encode())
		return nil
	})
	return r, err
}

// unproven says of what could not be proven whether the checkpoint or the log is at fault. The hint is for the log.
func unproven(what string, err error, hint ...string) error {
	switch {
	case errors.Is(err, receipt.ErrCheckpoint):
		return envelope.Errorf(envelope.ExitError, "checkpoint.wrong", "%s: %w", what, err)
	case errors.Is(err, receipt.ErrTampered):
		return envelope.Errorf(envelope.ExitError, "receipts.broken", "%s: %w", what, err).
			WithHint("%s", cmp.Or(hint...))
	}
	return err
}

// Proof is a proof that a receipt is in the log.
type Proof struct {
	Number  int             `json:"number"`
	Receipt receipt.Receipt `json:"receipt"`
	Proof   string          `json:"proof"`
}

// WriteText writes the proof as it is handed on.
func (r Proof) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, r.Proof)
	return err
}

// Prove proves that a receipt is in the log, by the checkpoint in a file, or by a new one.
func (l Log) Prove(id, kept string) (r Proof, err error) {
	s, err := l.find(id)
	if err != nil {
		return r, err
	}
	against, err := readCheckpoint(kept)
	if err == nil && kept == "" {
		var now Checkpoint
		now, err = l.Checkpoint()
		against = []byte(now.Checkpoint)
	}
	if err != nil {
		return r, err
	}
	err = l.with(func(src *receipt.Source, k *receipt.Keys) error {
		p, err := receipt.Prove(src, receipt.Trust{Keys: k, Public: k.Public, Against: against}, s.Number)
		if err != nil {
			return unproven("prove receipt "+terminal.Escape(s.Receipt.ID), err)
		}
		r = Proof{Number: p.Number, Receipt: p.Receipt, Proof: string(p.Encode())}
		return nil
	})
	return r, err
}
