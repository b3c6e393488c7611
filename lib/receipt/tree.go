package receipt

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is a Merkle tree (RFC 6962) over the lines of a log, of which only the right edge is kept, and what somebody
// wants.
type tree struct {
	n     int64
	edge  [64]tlog.Hash        // the last whole subtree of each height
	want  map[int64]*tlog.Hash // by index of stored hash
	found int
}

// add adds a line, given without its newline.
func (t *tree) add(raw []byte) error {
	hashes, err := tlog.StoredHashesForRecordHash(t.n, tlog.RecordHash(raw), t)
	if err != nil {
		return fmt.Errorf("extend the tree: %w", err)
	}
	first := tlog.StoredHashIndex(0, t.n)
	for i, h := range hashes {
		t.edge[i] = h
		if w, ok := t.want[first+int64(i)]; ok {
			*w = h
			t.found++
		}
	}
	t.n++
	return nil
}

// ReadHashes implements tlog.HashReader for the right edge.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		level, _ := tlog.SplitStoredHashIndex(x)
		out[i] = t.edge[level]
	}
	return out, nil
}

// root is the hash of the whole tree.
func (t *tree) root() (tlog.Hash, error) { return tlog.TreeHash(t.n, t) }

// checkpointText is what is signed: origin, number of receipts, root (https://c2sp.org/tlog-checkpoint).
func checkpointText(origin string, t tlog.Tree) string {
	return fmt.Sprintf("%s\n%d\n%s\n", origin, t.N, base64.StdEncoding.EncodeToString(t.Hash[:]))
}

// parseCheckpoint reads the text of a checkpoint of the log with this origin. Lines behind the third are allowed, and
// say nothing to us.
func parseCheckpoint(text, origin string) (t tlog.Tree, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[0] != origin {
		return t, errors.New("it is not a checkpoint of this log")
	}
	root, rootErr := base64.StdEncoding.Strict().DecodeString(lines[2])
	if t.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil || t.N < 0 || strconv.FormatInt(t.N, 10) != lines[1] ||
		rootErr != nil || len(root) != tlog.HashSize {
		return t, errors.New("invalid size or root")
	}
	copy(t.Hash[:], root)
	return t, nil
}
