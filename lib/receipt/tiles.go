package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight is that of https://c2sp.org/tlog-tiles: a tile holds 256 hashes, and a page of the log 256 receipts.
const (
	tileHeight = 8
	pageSize   = 1 << tileHeight
)

// errTiles means that the tiles are missing, of other keys, or not those of this log. They are never believed then: who
// needs them reads the log.
var errTiles = errors.New("the tiles do not match the log")

// tileDir holds what saves reading the log from its beginning: the hashes of its Merkle tree, where its pages lie, and
// a checkpoint of both, which is written last. All of it may be removed at any time. What a crash leaves is a
// checkpoint that is older than the tiles, or tiles that it does not fit: nothing here is synced.
func tileDir(log string) string { return filepath.Join(sideDir(log), tilesName) }

const tilesName = "tiles"

// tilePath is where a tile lies in that directory: tile/LEVEL/N, of an incomplete one with .p/WIDTH behind it.
func tilePath(t tlog.Tile) string {
	return filepath.Join("tile", filepath.FromSlash(strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", tileHeight))))
}

// tileFiles reads tiles for tlog.TileHashReader, which believes them only as far as they lead to the root.
type tileFiles struct {
	log  string
	have map[tlog.Tile][]byte // that have been found right
}

// Height implements tlog.TileReader.
func (t *tileFiles) Height() int { return tileHeight }

// ReadTiles implements tlog.TileReader.
func (t *tileFiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, tile := range tiles {
		if out[i] = t.have[tile]; out[i] != nil {
			continue
		}
		raw, err := readSide(t.log, tilePath(tile), int64(tile.W)*tlog.HashSize)
		if err != nil {
			return nil, err
		}
		out[i] = raw
	}
	return out, nil
}

// SaveTiles implements tlog.TileReader.
func (t *tileFiles) SaveTiles(tiles []tlog.Tile, data [][]byte) {
	for i, tile := range tiles {
		t.have[tile] = data[i]
	}
}

// state is what the checkpoint beside the tiles says: the tree, and the hash of the index of pages.
type state struct {
	tlog.Tree
	pages string
}

const pagesLead = "pages "

// readState reads the checkpoint of the tiles, which must be signed by a key that is not retired.
func readState(log string, k *Keys) (s state, err error) {
	raw, err := readSide(log, "checkpoint", -maxHeadBytes)
	if err != nil {
		return s, err
	}
	known, err := verifiers(inUse(k.Public))
	if err != nil {
		return s, err
	}
	n, err := note.Open(raw, known)
	if err != nil {
		return s, fmt.Errorf("%w: %w", errTiles, err)
	}
	if s.Tree, err = parseCheckpoint(n.Text, k.Origin); err != nil {
		return s, fmt.Errorf("%w: %w", errTiles, err)
	}
	lines := strings.Split(n.Text, "\n")
	hash, ok := strings.CutPrefix(lines[3], pagesLead)
	if !ok || s.N == 0 || s.N%pageSize != 0 {
		return s, fmt.Errorf("%w: it is not their checkpoint", errTiles)
	}
	s.pages = hash
	return s, nil
}

// publish writes the tiles of what came behind the tree of so many receipts, and then the checkpoint.
func (g *growth) publish(log string, k *Keys) error {
	n := g.n - g.n%pageSize
	if n <= g.from {
		return nil
	}
	if err := g.writeTiles(log, g.written, n); err != nil {
		return fmt.Errorf("write tiles: %w", err)
	}
	root, err := tlog.TreeHash(n, g)
	if err != nil {
		return fmt.Errorf("compute the root: %w", err)
	}
	index := encodePages(g.pages[:n/pageSize])
	if err := writeSide(log, "pages", index); err != nil {
		return fmt.Errorf("write the index of pages: %w", err)
	}
	text := checkpointText(k.Origin, tlog.Tree{N: n, Hash: root}) + pagesLead + pagesHash(index) + "\n"
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		return fmt.Errorf("sign the tiles: %w", err)
	}
	if err := writeSide(log, "checkpoint", signed); err != nil {
		return fmt.Errorf("write the checkpoint of the tiles: %w", err)
	}
	removeNarrow(log, g.from, n)
	return nil
}

// writeTiles writes the tiles that a tree of size to has, and one of size from has not.
func (g *growth) writeTiles(log string, from, to int64) error {
	for _, t := range tlog.NewTiles(tileHeight, from, to) {
		data, err := tlog.ReadTileData(t, g)
		if err != nil {
			return err
		}
		path := tilePath(t)
		if have, err := readSide(log, path, int64(len(data))); err == nil && bytes.Equal(have, data) {
			continue
		}
		if err := writeSide(log, path, data); err != nil {
			return err
		}
	}
	return nil
}

// removeNarrow removes incomplete tiles of a tree of size from that a larger one has wider. Who reads by the older
// checkpoint at this moment finds them missing, and reads the newer.
func removeNarrow(log string, from, to int64) {
	for level := 0; from>>(tileHeight*level) > 0; level++ {
		was, is := from>>(tileHeight*level), to>>(tileHeight*level)
		if w := was % pageSize; was != is && w > 0 {
			removeSide(log, tilePath(tlog.Tile{H: tileHeight, L: level, N: was / pageSize, W: int(w)}))
		}
	}
}
