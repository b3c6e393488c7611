package receipt

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	checkpoints "github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"clawsh/test/need"
)

// others is the tree of a log as transparency.dev's library has it: the hash of each whole subtree.
type others struct {
	size   uint64
	hashes map[compact.NodeID][]byte
	edge   *compact.Range
}

func newOthers(t *testing.T, lines [][]byte) *others {
	t.Helper()
	o := &others{hashes: map[compact.NodeID][]byte{},
		edge: (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)}
	for _, l := range lines {
		leaf := rfc6962.DefaultHasher.HashLeaf(bytes.TrimSuffix(l, []byte("\n")))
		if err := o.edge.Append(leaf, func(id compact.NodeID, h []byte) { o.hashes[id] = h }); err != nil {
			t.Fatal(err)
		}
		o.hashes[compact.NewNodeID(0, o.size)] = leaf
		o.size++
	}
	return o
}

// proof is what the library makes of the nodes that a proof has.
func (o *others) proof(t *testing.T, n proof.Nodes, err error) [][]byte {
	t.Helper()
	var hashes [][]byte
	for _, id := range n.IDs {
		hashes = append(hashes, o.hashes[id])
	}
	if err == nil {
		hashes, err = n.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
	}
	if err != nil {
		t.Fatal(err)
	}
	return hashes
}

// spoken is the name of a tile after c2sp.org/tlog-tiles.
func spoken(level int, n, width uint64) string {
	name := fmt.Sprintf("%03d", n%1000)
	for n /= 1000; n > 0; n /= 1000 {
		name = fmt.Sprintf("x%03d/%s", n%1000, name)
	}
	if width < pageSize {
		name += fmt.Sprintf(".p/%d", width)
	}
	return fmt.Sprintf("tile/%d/%s", level, name)
}

// TestTilesByOthers compares tiles, checkpoints and proofs of logs of several sizes with what transparency.dev's
// libraries make of them, to the byte, and has proofs checked by these.
func TestTilesByOthers(t *testing.T) {
	t.Parallel()
	sizes := []int{255, 256, 257, 512, 1000}
	if need.Soak() {
		sizes = append(sizes, 66_100)
	}
	for _, size := range sizes {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			path, keys := aLog(t, size)
			k := keysOf(t, Options{Keys: keys})
			verifier, err := note.NewVerifier(k.Public[0].Key)
			if err != nil {
				t.Fatal(err)
			}
			signed, _, err := Checkpoint(sourceOf(t, path), k)
			if err != nil {
				t.Fatal(err)
			}
			o := newOthers(t, bytes.SplitAfter(bytes.TrimSuffix(read(t, path), []byte("\n")), []byte("\n")))
			o.root(t, signed, k.Origin, verifier, o.size)
			o.tiles(t, path, k.Origin, verifier)
			for _, number := range []int{1, 2, 255, 256, 257, size - 1, size} {
				if number <= size {
					o.inclusion(t, path, k, signed, number)
				}
			}
			for _, older := range []uint64{1, 2, 255, o.size / 2, o.size - 1, o.size} {
				o.consistency(t, path, k, signed, older, verifier)
			}
		})
	}
}

func sourceOf(t *testing.T, path string) *Source {
	t.Helper()
	src, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// rootAt is the root of the first n lines.
func (o *others) rootAt(t *testing.T, n uint64) []byte {
	t.Helper()
	ids := compact.RangeNodes(0, n, nil)
	var hash []byte
	for i := range ids {
		h := o.hashes[ids[len(ids)-1-i]]
		if hash == nil {
			hash = h
		} else {
			hash = rfc6962.DefaultHasher.HashChildren(h, hash)
		}
	}
	return hash
}

// root checks a checkpoint, and returns what stands behind its three lines.
func (o *others) root(t *testing.T, signed []byte, origin string, v note.Verifier, size uint64) []byte {
	t.Helper()
	c, rest, _, err := checkpoints.ParseCheckpoint(signed, origin, v)
	if err != nil {
		t.Fatalf("%v: %s", err, signed)
	}
	if c.Size != size || !bytes.Equal(c.Hash, o.rootAt(t, size)) {
		t.Errorf("the checkpoint: %+v", c)
	}
	return rest
}

// tiles checks every file of the tiles, and that there are no others.
func (o *others) tiles(t *testing.T, path, origin string, v note.Verifier) {
	t.Helper()
	size := o.size - o.size%pageSize
	if size == 0 {
		return
	}
	rest := o.root(t, read(t, filepath.Join(tileDir(path), "checkpoint")), origin, v, size)
	if !strings.HasPrefix(string(rest), pagesLead) {
		t.Errorf("behind the checkpoint stands %q", rest)
	}
	want := map[string]bool{"checkpoint": true, "pages": true}
	for level := 0; size>>(8*level) > 0; level++ {
		n := size >> (8 * level)
		for i := uint64(0); i < n; i += pageSize {
			width := min(n-i, pageSize)
			var data []byte
			for j := range width {
				data = append(data, o.hashes[compact.NewNodeID(uint(8*level), i+j)]...)
			}
			name := spoken(level, i/pageSize, width)
			want[name] = true
			if got, err := os.ReadFile(filepath.Join(tileDir(path), name)); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := fs.WalkDir(os.DirFS(tileDir(path)), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !want[name] {
			t.Errorf("%s is none of the tree's tiles", name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (o *others) inclusion(t *testing.T, path string, k *Keys, signed []byte, number int) {
	t.Helper()
	p, err := Prove(sourceOf(t, path), Trust{Keys: k, Public: k.Public, Against: signed}, number)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(p.Encode()), "\n\n")
	lines := strings.Split(head, "\n")
	leaf, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil || lines[2] != fmt.Sprint("index ", number-1) {
		t.Fatalf("%v: %s", err, head)
	}
	index := uint64(number - 1)
	nodes, err := proof.Inclusion(index, o.size)
	want := o.proof(t, nodes, err)
	got := decoded(t, lines[3:])
	if !equal(got, want) {
		t.Errorf("the proof of receipt %d is another one", number)
	}
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, o.size, rfc6962.DefaultHasher.HashLeaf(leaf), got,
		o.rootAt(t, o.size)); err != nil {
		t.Errorf("the proof of receipt %d: %v", number, err)
	}
	if o.size > 1 && proof.VerifyInclusion(rfc6962.DefaultHasher, (index+1)%o.size, o.size,
		rfc6962.DefaultHasher.HashLeaf(leaf), got, o.rootAt(t, o.size)) == nil {
		t.Errorf("it proves another place")
	}
}

func (o *others) consistency(t *testing.T, path string, k *Keys, signed []byte, older uint64, v note.Verifier) {
	t.Helper()
	text := fmt.Sprintf("%s\n%d\n%s\n", k.Origin, older, base64.StdEncoding.EncodeToString(o.rootAt(t, older)))
	old, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ProveConsistency(sourceOf(t, path),
		Trust{Keys: k, Public: k.Public, Against: append(bytes.Clone(old), signed...)})
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(c.Encode()), "\n\n")
	got := decoded(t, strings.Split(head, "\n")[1:])
	nodes, err := proof.Consistency(older, o.size)
	if want := o.proof(t, nodes, err); !equal(got, want) {
		t.Errorf("the proof of %d in %d is another one", older, o.size)
	}
	if !strings.HasPrefix(rest, string(old)) {
		t.Errorf("the older checkpoint is not in it: %s", rest)
	}
	o.root(t, []byte(strings.TrimPrefix(rest, string(old))), k.Origin, v, o.size)
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, older, o.size, got, o.rootAt(t, older),
		o.rootAt(t, o.size)); err != nil {
		t.Errorf("the proof of %d in %d: %v", older, o.size, err)
	}
}

func decoded(t *testing.T, lines []string) (out [][]byte) {
	t.Helper()
	for _, l := range lines {
		h, err := base64.StdEncoding.DecodeString(l)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

func equal(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, nil), bytes.Join(b, nil)) && len(a) == len(b)
}
