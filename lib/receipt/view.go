package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"clawsh/lib/spelling"
)

// view is a log of which the beginning is known by its tiles and the end has been verified. The tiles' checkpoint was
// signed after all receipts up to it had been verified, and the last of them names all before it by its chain: so what
// the tiles say is what these receipts were then. What becomes of their lines since, Verify finds; a line that is shown
// or proven is held against them.
type view struct {
	src *Source
	g   *growth
	v   *verifier
}

// look opens the log by its tiles. The error is errTiles if they are of no use, or if something is wrong with the end
// of the log.
func look(src *Source, t Trust) (*view, error) {
	if t.Keys == nil {
		return nil, errTiles
	}
	w, err := begin(src, t)
	if err != nil {
		return nil, err
	}
	v := w.v
	if v.head != nil && int64(v.head.count) < w.g.n {
		return nil, fmt.Errorf("%w: the head is older", errTiles)
	}
	if v.head != nil && int64(v.head.count) == w.g.n {
		v.headHash, v.headSize = string(v.last[:]), v.report.bytes
	}
	if err := w.held(); err != nil {
		return nil, err
	}
	if err := src.seek(w.g.end); err != nil {
		return nil, err
	}
	if err := v.replay(src); err != nil {
		return nil, err
	}
	if v.report.Chain != Intact || v.report.Macs != Valid {
		return nil, errTiles
	}
	return w, nil
}

// begin opens the tiles and finds the last receipt that they hold.
func begin(src *Source, t Trust) (*view, error) {
	s, err := readState(src.log, t.Keys)
	if err != nil {
		return nil, err
	}
	index, err := readSide(src.log, "pages", -maxIndexBytes)
	if err != nil {
		return nil, err
	}
	index = index[:min(int64(len(index)), s.N/pageSize*pageLineBytes)] // there may be a newer one
	if pagesHash(index) != s.pages {
		return nil, fmt.Errorf("%w: the index of pages", errTiles)
	}
	g := newGrowth()
	g.from, g.n, g.written, g.base, g.keep = s.N, s.N, s.N, tlog.StoredHashIndex(0, s.N), true
	g.stored = tlog.TileHashReader(s.Tree, &tileFiles{src.log, map[tlog.Tile][]byte{}})
	if g.pages, err = parsePages(index); err != nil {
		return nil, err
	}
	g.end = g.pages[len(g.pages)-1].end
	w := &view{src, g, &verifier{trust: t, grown: g}}
	lines, err := w.pageLines(len(g.pages) - 1)
	if err != nil {
		return nil, err
	}
	last, err := Parse(lines[pageSize-1])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	if err := w.v.prepare(src); err != nil {
		return nil, err
	}
	w.v.report.Count, w.v.report.bytes = int(s.N), g.end
	copy(w.v.last[:], last.ReceiptHash)
	return w, nil
}

// held holds the log against the checkpoints that are no larger than its tiles.
func (w *view) held() error {
	v, g := w.v, w.g
	for ; v.reached < len(v.kept) && v.kept[v.reached].N <= g.n; v.reached++ {
		c := &v.kept[v.reached]
		if c.N == 0 {
			continue
		}
		root, err := tlog.TreeHash(c.N, g)
		if err != nil {
			return fmt.Errorf("%w: %w", errTiles, err)
		}
		if root != c.Hash && v.forked == nil {
			v.forked = c
		}
	}
	if v.tree == nil {
		return nil
	}
	v.tree.n = g.n
	for level := 0; g.n>>level > 0; level++ {
		if g.n>>level&1 == 0 {
			continue
		}
		h, err := g.ReadHashes([]int64{tlog.StoredHashIndex(level, g.n>>level-1)})
		if err != nil {
			return err
		}
		v.tree.edge[level] = h[0]
	}
	return nil
}

// pageLines reads the lines of a page, each of which must be the one that was verified.
func (w *view) pageLines(n int) ([][]byte, error) {
	start := int64(0)
	if n > 0 {
		start = w.g.pages[n-1].end
	}
	size := w.g.pages[n].end - start
	if size <= 0 || size > pageSize*(maxLineBytes+1) {
		return nil, errTiles
	}
	raw := make([]byte, size)
	if err := w.src.seek(start); err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	if _, err := io.ReadFull(w.src, raw[:size-1]); err != nil {
		return nil, fmt.Errorf("%w: %w", errTiles, err)
	}
	lines := bytes.Split(raw[:size-1], []byte{'\n'})
	if len(lines) != pageSize {
		return nil, fmt.Errorf("%w: where page %d lies", errTiles, n)
	}
	indexes := make([]int64, pageSize)
	for i := range indexes {
		indexes[i] = tlog.StoredHashIndex(0, int64(n*pageSize+i))
	}
	hashes, err := w.g.ReadHashes(indexes)
	if err != nil {
		return nil, err
	}
	for i, line := range lines {
		if tlog.RecordHash(line) != hashes[i] {
			return nil, fmt.Errorf("%w: receipt %d is not the one that was verified", errTiles, n*pageSize+i+1)
		}
	}
	return lines, nil
}

// line is the receipt with this number, counted from 1, as it is written.
func (w *view) line(number int) ([]byte, error) {
	if number < 1 || number > w.v.report.Count {
		return nil, ErrNotFound
	}
	if i := number - 1 - int(w.g.from); i >= 0 {
		return w.g.lines[i], nil
	}
	lines, err := w.pageLines((number - 1) / pageSize)
	if err != nil {
		return nil, err
	}
	return lines[(number-1)%pageSize], nil
}

// find returns the receipt with this id, or the only one whose id starts like it, and its number.
func (w *view) find(id string) (Receipt, int, error) {
	m := match{id: id}
	for i := range w.g.pages[:w.g.from/pageSize] {
		if !w.g.pages[i].mayHold(id) {
			continue
		}
		lines, err := w.pageLines(i)
		if err != nil {
			return Receipt{}, 0, err
		}
		if m.lines(lines, i*pageSize) {
			break
		}
	}
	if !m.exact {
		m.lines(w.g.lines, int(w.g.from))
	}
	return m.result()
}

// match looks for a receipt by its id or the beginning of that.
type match struct {
	id     string
	found  Receipt
	number int
	count  int
	exact  bool
}

// lines looks at lines behind so many others, and tells whether the receipt is found.
func (m *match) lines(lines [][]byte, before int) bool {
	start := append(slices.Clone(leads[fID]), m.id...)
	for i, raw := range lines {
		if !bytes.HasPrefix(raw, start) {
			continue
		}
		var l line
		if l.scan(raw) == nil && m.receipt(before+i+1, l.receipt()) {
			return true
		}
	}
	return false
}

// receipt looks at one receipt.
func (m *match) receipt(number int, r Receipt) bool {
	if len(m.id) <= len(idPrefix) || !strings.HasPrefix(r.ID, m.id) {
		return false
	}
	m.found, m.number = r, number
	if m.count++; r.ID == m.id {
		m.count, m.exact = 1, true
	}
	return m.exact
}

func (m *match) result() (Receipt, int, error) {
	switch {
	case m.count == 0:
		return Receipt{}, 0, ErrNotFound
	case m.count > 1:
		return Receipt{}, 0, fmt.Errorf("%s start like this: give more of the id", spelling.Count(m.count, "receipt"))
	}
	return m.found, m.number, nil
}

// byTiles lets use look at a log by its tiles. They are made anew if they are missing or wrong, and the log is long
// enough. Where done is false the log has to be read: there are none, or something is wrong with it.
func byTiles(r io.Reader, t Trust, use func(*view) error) (done bool, err error) {
	src, ok := r.(*Source)
	if !ok || t.Keys == nil {
		return false, nil
	}
	for attempt := range 3 { // twice as they are: somebody may have written newer ones meanwhile
		if attempt == 2 && rebuild(src, t.Keys) != nil {
			break
		}
		w, err := look(src, t)
		if err == nil {
			err = use(w)
		}
		if !errors.Is(err, errTiles) {
			return true, err
		}
	}
	return false, src.seek(0)
}

// shortBytes is less than the receipts of a tile take.
const shortBytes = pageSize * 400

// rebuild verifies the whole log and writes its tiles.
func rebuild(src *Source, k *Keys) error {
	if size, err := src.Size(); err != nil || size < shortBytes {
		return errTiles
	}
	if _, err := MakeTileDir(src.log); err != nil {
		return err
	}
	if err := writeSide(src.log, ".try", nil); err != nil {
		return err // reading all would be in vain
	}
	removeSide(src.log, ".try")
	if err := src.seek(0); err != nil {
		return err
	}
	g := newGrowth()
	g.log = src.log
	v := &verifier{trust: Trust{Keys: k}, grown: g}
	if err := v.run(src); err != nil {
		return err
	}
	if !v.report.Valid {
		return ErrTampered
	}
	return g.publish(src.log, k)
}
