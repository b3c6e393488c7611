package receipt

import (
	"errors"

	"clawsh/lib/durable"
)

// extendBy is how many receipts an append may add to the tiles: more are left to who looks at the log, and waits for
// that alone.
const extendBy = 16 * pageSize

// extend adds what was appended since to the tiles.
func (l *Log) extend() error {
	if _, err := MakeTileDir(l.path); err != nil {
		return err
	}
	return l.log.Locked(func(*durable.End) error {
		src, err := open(l.path, false)
		if err != nil {
			return err
		}
		defer src.Close()
		w, err := begin(src, Trust{Keys: l.keys})
		if err != nil { // there are none yet
			g := newGrowth()
			w = &view{src, g, &verifier{trust: Trust{Keys: l.keys}, grown: g}}
			if err := w.v.prepare(nil); err != nil {
				return err
			}
			copy(w.v.last[:], Genesis)
		}
		if n := int64(l.now.count); n <= w.g.n || n-w.g.n > extendBy {
			return errTiles
		}
		if err := w.through(l.now); err != nil {
			return err
		}
		return w.g.publish(l.path, l.keys)
	})
}

// through verifies what follows up to a receipt.
func (w *view) through(last head) error {
	if err := w.src.seek(w.g.end); err != nil {
		return err
	}
	v := w.v
	err := each(w.src, func(raw []byte, _ bool) error {
		v.report.Count++
		if err := v.receipt(raw); err != nil {
			return err
		}
		if v.report.Count == last.count {
			return errStop
		}
		return nil
	})
	if !errors.Is(err, errStop) || v.macBad > 0 || string(v.last[:]) != last.hash {
		return errTiles
	}
	return nil
}
