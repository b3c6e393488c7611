package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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

// errTiles means that the tiles are missing, of other keys, or not those of this log. They are never believed then: who needs
// them reads the log.
var errTiles = errors.New("the tiles are not those of the log")

// tileDir holds what saves reading the log from its beginning: the hashes of its Merkle tree, where its pages lie, and a checkpoint
// of both, which is written last. All of it may be removed at any time. What a crash leaves is a checkpoint that is older than
// the tiles, or tiles that it does not fit: nothing here is synced.
func tileDir(log string) string { return filepath.Join(sideDir(log), "tiles") }

// MakeTileDir makes the directory of the tiles of the log, if its other files are there: who confines itself needs its name first.
func MakeTileDir(log string) (string, error) {
	if _, err := os.Lstat(sideDir(log)); err != nil {
		return "", err
	}
	return tileDir(log), os.MkdirAll(tileDir(log), 0o700)
}

// tilePath is where a tile lies: tile/LEVEL/N, of an incomplete one with .p/WIDTH behind it.
func tilePath(dir string, t tlog.Tile) string {
	return filepath.Join(dir, "tile", filepath.FromSlash(strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", tileHeight))))
}

// tileFiles reads tiles for tlog.TileHashReader, which believes them only as far as they lead to the root.
type tileFiles struct {
	dir  string
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
		raw, err := readSide(tilePath(t.dir, tile), int64(tile.W)*tlog.HashSize)
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

// readSide reads a file that has exactly so many bytes, or at most, if most is negative.
func readSide(path string, size int64) ([]byte, error) {
	f, err := openPart(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || size >= 0 && info.Size() != size || size < 0 && info.Size() > -size {
		return nil, fmt.Errorf("%w: the size of %s", errTiles, path)
	}
	raw := make([]byte, info.Size())
	if _, err := f.ReadAt(raw, 0); err != nil && len(raw) > 0 {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	return raw, nil
}

// writeSide replaces a file, whole, and syncs nothing.
func writeSide(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// state is what the checkpoint beside the tiles says: the tree, and the hash of the index of pages.
type state struct {
	tlog.Tree
	pages string
}

const pagesLead = "pages "

// readState reads the checkpoint of the tiles, which must be signed by a key that is not retired.
func readState(log string, k *Keys) (s state, err error) {
	raw, err := readSide(filepath.Join(tileDir(log), "checkpoint"), -maxHeadBytes)
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
	dir, n := tileDir(log), g.n-g.n%pageSize
	if n <= g.from {
		return nil
	}
	if err := g.writeTiles(dir, g.written, n); err != nil {
		return fmt.Errorf("write tiles: %w", err)
	}
	root, err := tlog.TreeHash(n, g)
	if err != nil {
		return fmt.Errorf("compute the root: %w", err)
	}
	index := encodePages(g.pages[:n/pageSize])
	if err := writeSide(filepath.Join(dir, "pages"), index); err != nil {
		return fmt.Errorf("write the index of pages: %w", err)
	}
	text := checkpointText(k.Origin, tlog.Tree{N: n, Hash: root}) + pagesLead + pagesHash(index) + "\n"
	signed, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		return fmt.Errorf("sign the tiles: %w", err)
	}
	if err := writeSide(filepath.Join(dir, "checkpoint"), signed); err != nil {
		return fmt.Errorf("write the checkpoint of the tiles: %w", err)
	}
	removeNarrow(dir, g.from, n)
	return nil
}

// writeTiles writes the tiles that a tree of size to has, and one of size from has not.
func (g *growth) writeTiles(dir string, from, to int64) error {
	for _, t := range tlog.NewTiles(tileHeight, from, to) {
		data, err := tlog.ReadTileData(t, g)
		if err != nil {
			return err
		}
		path := tilePath(dir, t)
		if have, err := readSide(path, int64(len(data))); err == nil && bytes.Equal(have, data) {
			continue
		}
		if err := writeSide(path, data); err != nil {
			return err
		}
	}
	return nil
}

// removeNarrow removes incomplete tiles of a tree of size from that a larger one has wider. Who reads by the older checkpoint at this
// moment finds them missing, and reads the newer.
func removeNarrow(dir string, from, to int64) {
	for level := 0; from>>(tileHeight*level) > 0; level++ {
		was, is := from>>(tileHeight*level), to>>(tileHeight*level)
		if w := was % pageSize; was != is && w > 0 {
			path := tilePath(dir, tlog.Tile{H: tileHeight, L: level, N: was / pageSize, W: int(w)})
			os.Remove(path)
			os.Remove(filepath.Dir(path)) // if nothing else is in it
		}
	}
}
