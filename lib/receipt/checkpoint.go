package receipt

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"clawsh/lib/spelling"
)

// Checkpoint verifies the log and signs what it holds: how many receipts, and the root of a Merkle tree (RFC 6962)
// whose leaves are the lines without their newlines. The text is a checkpoint of https://c2sp.org/tlog-checkpoint; kept
// where nobody who can write to the log can reach, it shows any later change to these receipts. A log that is not valid
// is not signed: then the checkpoint is nil, and the report says why.
func Checkpoint(r io.Reader, k *Keys) (signed []byte, rep Report, err error) {
	var root tlog.Hash
	done, err := byTiles(r, Trust{Keys: k}, func(w *view) (err error) {
		if rep = w.v.report; !rep.Valid {
			return errTiles
		}
		root, err = w.root(int64(rep.Count))
		return err
	})
	if err != nil {
		return nil, rep, err
	}
	if !done {
		v := &verifier{trust: Trust{Keys: k}, tree: &tree{}}
		if err := v.run(r); err != nil || !v.report.Valid {
			return nil, v.report, err
		}
		rep = v.report
		if root, err = v.tree.root(); err != nil {
			return nil, rep, fmt.Errorf("compute the root: %w", err)
		}
	}
	signed, err = note.Sign(&note.Note{Text: checkpointText(k.Origin, tlog.Tree{N: int64(rep.Count), Hash: root})},
		k.signer)
	if err != nil {
		return nil, rep, fmt.Errorf("sign the checkpoint: %w", err)
	}
	return signed, rep, nil
}

// Proof shows that one receipt is in a log, as it was checkpointed. Receipt is the line; Number counts from 1.
type Proof struct {
	Receipt    Receipt
	Line       []byte
	Number     int
	Checkpoint []byte
	Origin     string
	Tree       tlog.Tree // of the checkpoint. Set by CheckProof
	// when the key was replaced that signed the checkpoint: who got hold of it may have signed since. Set by CheckProof
	RetiredAt string
	hashes    tlog.RecordProof
}

// proofLabel is the first line of a proof (https://c2sp.org/tlog-proof). The receipt's line is its extra data.
const proofLabel = "c2sp.org/tlog-proof@v1"

// Prove writes a proof for the receipt with this number under a checkpoint of the log, which is verified once more on
// the way: the log must extend the checkpoint, and hold the receipt within it.
func Prove(r io.Reader, t Trust, number int) (*Proof, error) {
	list, err := openKept(t.Against, t.Public)
	if err != nil {
		return nil, err
	}
	checkpoint := list[len(list)-1]
	if number < 1 || int64(number) > checkpoint.N {
		return nil, fmt.Errorf("receipt %d is not among the %s of the checkpoint: make a new one", number,
			spelling.Count(checkpoint.N, "receipt"))
	}
	p := &Proof{Number: number, Checkpoint: checkpoint.raw}
	if done, err := byTiles(r, t, func(w *view) error { return w.prove(p, checkpoint.Tree) }); done || err != nil {
		return p, err
	}
	want := map[int64]*tlog.Hash{}
	var wanted []int64
	// ask which hashes the proof needs; then they are picked up while the log is read
	_, err = tlog.ProveRecord(checkpoint.N, int64(number-1),
		tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			wanted = indexes
			return make([]tlog.Hash, len(indexes)), nil
		}))
	if err != nil {
		return nil, fmt.Errorf("prove receipt %d: %w", number, err)
	}
	for _, x := range wanted {
		want[x] = new(tlog.Hash)
	}
	v := &verifier{trust: t, tree: &tree{want: want}}
	if err := v.run(&lineAt{r: r, number: number, proof: p}); err != nil {
		return nil, err
	}
	if v.report.Checkpoint != Extended || v.report.Chain != Intact {
		return nil, fmt.Errorf("%w: %s", ErrTampered, v.report.Evidence)
	}
	p.hashes, err = tlog.ProveRecord(checkpoint.N, int64(number-1),
		tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			out := make([]tlog.Hash, len(indexes))
			for i, x := range indexes {
				out[i] = *want[x]
			}
			return out, nil
		}))
	if err != nil {
		return nil, fmt.Errorf("prove receipt %d: %w", number, err)
	}
	p.Receipt, err = Parse(p.Line)
	return p, err
}

// prove fills in a proof under a checkpoint.
func (w *view) prove(p *Proof, under tlog.Tree) (err error) {
	if r := w.v.report; r.Chain != Intact || r.Checkpoint != Extended {
		return errTiles // reading it all says what is wrong
	}
	if p.Line, err = w.line(p.Number); err != nil {
		return err
	}
	index := int64(p.Number - 1)
	if p.hashes, err = tlog.ProveRecord(under.N, index, w.g); err != nil {
		return fmt.Errorf("%w: %w", errTiles, err)
	}
	if err := tlog.CheckRecord(p.hashes, under.N, under.Hash, index, tlog.RecordHash(p.Line)); err != nil {
		return fmt.Errorf("%w: %w", errTiles, err)
	}
	p.Receipt, err = Parse(p.Line)
	return err
}

// root is the root of the first n receipts.
func (w *view) root(n int64) (tlog.Hash, error) {
	root, err := tlog.TreeHash(n, w.g)
	if err != nil {
		err = fmt.Errorf("%w: %w", errTiles, err)
	}
	return root, err
}

// lineAt keeps one line of what passes.
type lineAt struct {
	r      io.Reader
	number int // how many lines are still to come, this one included
	proof  *Proof
}

// Read implements io.Reader.
func (l *lineAt) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for b := p[:n]; len(b) > 0 && l.number > 0; {
		part, rest, ended := bytes.Cut(b, []byte{'\n'})
		if l.number == 1 {
			l.proof.Line = append(l.proof.Line, part...)
		}
		if ended {
			l.number--
		}
		b = rest
	}
	return n, err
}

// Encode is the proof as text (https://c2sp.org/tlog-proof).
func (p *Proof) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\nextra %s\nindex %d\n", proofLabel, base64.StdEncoding.EncodeToString(p.Line), p.Number-1)
	for _, h := range p.hashes {
		fmt.Fprintln(&b, base64.StdEncoding.EncodeToString(h[:]))
	}
	b.WriteByte('\n')
	b.Write(p.Checkpoint)
	return b.Bytes()
}

// CheckProof reads a proof and checks all that it says, by one of the keys: the signature of its checkpoint, that the
// receipt is in the tree, and that the receipt's hash is that of its content. It returns the proof, and how many
// receipts the checkpoint counts.
func CheckProof(raw []byte, keys []PublicKey) (*Proof, int, error) {
	p, err := parseProof(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")))
	if err != nil {
		return nil, 0, fmt.Errorf("read the proof: %w", err)
	}
	origin, _, _ := bytes.Cut(p.Checkpoint, []byte{'\n'})
	p.Origin = string(origin)
	list, err := openKept(p.Checkpoint, keys)
	if err != nil {
		return nil, 0, err
	}
	if len(list) != 1 {
		return nil, 0, errors.New("the proof is wrong: it holds more than one checkpoint")
	}
	tree := list[0]
	p.RetiredAt, p.Tree = tree.retired, tree.Tree
	if int64(p.Number) > tree.N {
		return nil, 0, fmt.Errorf("the proof is wrong: receipt %d is not among the %d of the checkpoint", p.Number,
			tree.N)
	}
	if err := tlog.CheckRecord(p.hashes, tree.N, tree.Hash, int64(p.Number-1), tlog.RecordHash(p.Line)); err != nil {
		return nil, 0, errors.New("the proof is wrong: the receipt is not in the tree that the checkpoint signs")
	}
	if p.Receipt, err = Parse(p.Line); err != nil {
		return nil, 0, fmt.Errorf("the receipt in the proof: %w", err)
	}
	return p, int(tree.N), nil
}

// maxProofBytes is longer than any proof.
const maxProofBytes = 64 << 10

func parseProof(raw []byte) (*Proof, error) {
	if len(raw) > maxProofBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxProofBytes)
	}
	top, checkpoint, ok := bytes.Cut(raw, []byte("\n\n"))
	lines := strings.Split(string(top), "\n")
	if !ok || len(lines) < 3 || lines[0] != proofLabel {
		return nil, fmt.Errorf("want %q, extra, index, hashes and a checkpoint", proofLabel)
	}
	b := base64.StdEncoding.Strict()
	extra, hasExtra := strings.CutPrefix(lines[1], "extra ")
	index, hasIndex := strings.CutPrefix(lines[2], "index ")
	line, err := b.DecodeString(extra)
	n, indexErr := strconv.ParseInt(index, 10, 32)
	if !hasExtra || !hasIndex || err != nil || indexErr != nil || n < 0 || strconv.FormatInt(n, 10) != index {
		return nil, errors.New("invalid receipt or index")
	}
	p := &Proof{Line: line, Number: int(n) + 1, Checkpoint: checkpoint}
	for _, l := range lines[3:] {
		h, err := b.DecodeString(l)
		if err != nil || len(h) != tlog.HashSize {
			return nil, errors.New("invalid hash")
		}
		p.hashes = append(p.hashes, tlog.Hash(h))
	}
	return p, nil
}
