package receipt

import (
	"bytes"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// growth is a Merkle tree that grows behind one of which the hashes are stored, with the index of its pages. It holds
// the hashes of what came behind, and lets go of those of complete tiles once they are written.
type growth struct {
	from    int64           // how many receipts are stored
	stored  tlog.HashReader // their hashes
	n       int64
	written int64 // up to where tiles are written
	base    int64 // the index of the first of fresh
	fresh   []tlog.Hash
	high    map[int64]tlog.Hash // of what was let go, the hashes of complete tiles and above
	pages   []page              // all that are complete
	page    page                // the one that is not
	end     int64               // of the last line in the log
	lines   [][]byte            // behind from, if keep
	keep    bool
	log     string // of which tiles are written on the way; empty: none are
}

func newGrowth() *growth { return &growth{high: map[int64]tlog.Hash{}} }

// add adds a line that is found good, given without its newline.
func (g *growth) add(raw, id []byte) error {
	hashes, err := tlog.StoredHashesForRecordHash(g.n, tlog.RecordHash(raw), g)
	if err != nil {
		return fmt.Errorf("extend the tree: %w", err)
	}
	g.fresh = append(g.fresh, hashes...)
	g.n++
	g.end += int64(len(raw)) + 1
	g.page.add(id)
	if g.page.end = g.end; g.n%pageSize == 0 {
		g.pages = append(g.pages, g.page)
		g.page = page{}
	}
	if g.keep {
		g.lines = append(g.lines, bytes.Clone(raw))
	}
	if g.log != "" && g.n%flushAt == 0 {
		return g.flush(g.log)
	}
	return nil
}

// flushAt is after how many receipts tiles are written, and their hashes let go: a tile of the second level.
const flushAt = pageSize * pageSize

// flush writes complete tiles, and lets go of their hashes.
func (g *growth) flush(log string) error {
	if err := g.writeTiles(log, g.written, g.n); err != nil {
		return fmt.Errorf("write tiles: %w", err)
	}
	for i, h := range g.fresh {
		if level, _ := tlog.SplitStoredHashIndex(g.base + int64(i)); level >= tileHeight {
			g.high[g.base+int64(i)] = h
		}
	}
	removeNarrow(log, g.written, g.n)
	g.written, g.base, g.fresh = g.n, g.base+int64(len(g.fresh)), g.fresh[:0]
	return nil
}

// ReadHashes implements tlog.HashReader.
func (g *growth) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	var older []int64
	for i, x := range indexes {
		if x >= g.base && x-g.base < int64(len(g.fresh)) {
			out[i] = g.fresh[x-g.base]
		} else if h, ok := g.high[x]; ok {
			out[i] = h
		} else {
			older = append(older, x)
		}
	}
	if len(older) == 0 {
		return out, nil
	}
	if g.stored == nil {
		return nil, fmt.Errorf("%w: a hash is not stored", errTiles)
	}
	found, err := g.stored.ReadHashes(older)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	next := 0
	for i, x := range indexes {
		if next < len(older) && x == older[next] {
			out[i] = found[next]
			next++
		}
	}
	return out, nil
}
