package receipt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Reasons for which a log is not set aside; test with errors.Is.
var (
	ErrSound      = errors.New("the log is sound")
	ErrAcceptable = errors.New("chain and MACs of the log are good")
)

// asideTool is the tool in the first receipt of a log that took the place of one that was set aside.
const asideTool = "receipts_set_aside"

const (
	asidePrefix = "aside-"
	asideLabel  = "/aside\n"
	asideNote   = "note"
)

// Aside says what a log was when it was set aside: it is the arguments of the new log's first receipt, and of the
// signed note.
type Aside struct {
	At       string `json:"at"`
	Origin   string `json:"origin"`
	SHA256   string `json:"sha256"` // of the whole log, its parts one behind the other
	Bytes    int64  `json:"bytes"`
	Lines    int    `json:"lines"`
	FirstBad int    `json:"first_bad"` // as Report has them
	LastGood string `json:"last_good"`
	HeadSays int    `json:"head_count"`
	Fault    string `json:"fault"`
	Reason   string `json:"reason"` // the operator's
}

// SetAside is what was done: where the old log lies, with its head, and its keys.
type SetAside struct {
	Aside
	Log       string `json:"log"`
	Keys      string `json:"keys"`
	NewOrigin string `json:"new_origin"`
	ReceiptID string `json:"receipt_id"`
}

// AsideKeys is the directory of the keys of a log that was set aside; empty for any other.
func AsideKeys(keys, log, of string) string {
	dir := filepath.Dir(of)
	if name := filepath.Base(dir); filepath.Dir(dir) == sideDir(log) && strings.HasPrefix(name, asidePrefix) {
		return filepath.Join(keys, name)
	}
	return ""
}

// Examine tells whether a log is one to set aside, and what is wrong with it: nothing is (ErrSound), or what only a
// head lacks that an operator can sign (ErrAcceptable), is not.
func Examine(src *Source, k *Keys) (Report, error) {
	rep, err := Verify(src, Trust{Keys: k})
	switch {
	case err != nil:
		return rep, err
	case rep.Valid:
		return rep, ErrSound
	case rep.Chain == Intact && rep.Macs == Valid:
		return rep, ErrAcceptable
	}
	return rep, nil
}

// Replace sets a damaged log aside whole, with its head and its keys, and begins another with new keys, whose first
// receipt names the old one. None of the calls that the gate has decided about so far is taken for interrupted.
//
// It is this sequence; what a crash behind each step leaves, and who recovers it:
//
//	copy log, parts, head, keys    the old log, and a copy of it that nothing names: Replace begins anew
//	write the note beside the log  the same
//	public keys, head of the new   the old log, read from the copy (OpenIn); nothing is appended; it continues here
//	remove parts, cut, first line  the same
//	replace the secret keys        the new log, whole: this is the moment at which it takes the old one's place
//	remove the old public key      the new log, and the note, which Replace removes; if the log is damaged since,
//	                               it is copied like any other
func Replace(path string, o Options, audit, reason string) (SetAside, error) {
	return replacement{path: path, keys: o.Keys, audit: audit, reason: reason,
		at: func(string) error { return nil }}.run()
}

// replacement is one run of Replace.
type replacement struct {
	path, keys    string
	audit, reason string
	at            func(step string) error // told of each step that is done, so that tests can end there
}

func (x replacement) run() (SetAside, error) {
	l, err := OpenLog(x.path, Options{Keys: x.keys}) // one receipt is no reason to rotate
	if err != nil {
		return SetAside{}, err
	}
	defer l.Close()
	var p prepared
	err = l.log.AppendNext(true, func(e *durable.End) (raw []byte, err error) {
		if p, err = x.prepare(l); err == nil && p.committed {
			err = errStop
		}
		if err != nil {
			return nil, err
		}
		var r Receipt
		if raw, r, err = x.begin(l, e, p); err != nil {
			return nil, err
		}
		p.NewOrigin, p.ReceiptID = l.keys.Origin, r.ID
		return raw, nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return p.SetAside, err
	}
	if err := x.at("first receipt"); err != nil {
		return p.SetAside, err
	}
	return p.SetAside, l.log.Locked(func(*durable.End) error { return x.commit(l, p.committed) })
}

// prepared is a log of which there is a copy.
type prepared struct {
	SetAside
	to        string // the new log's origin, if a run that was interrupted has begun with it
	committed bool   // the new log is there already
}

// prepare copies the log, unless a run that was interrupted has done that, or more. The note alone is not believed:
// one that is older says the same of a log that nobody has copied.
func (x replacement) prepare(l *Log) (p prepared, err error) {
	m, ok := readMark(x.path, l.keys)
	ours := ok && m.to == l.keys.Origin // the new keys are in use: what the note is about is done
	if ours && l.sounds() {
		p = prepared{SetAside: m.Aside.setAside(x.path, x.keys), committed: true}
		p.NewOrigin = m.to
		p.ReceiptID, err = firstID(x.path)
		return p, err
	}
	if ours {
		if err := x.finish(l); err != nil {
			return p, err
		}
	}
	if err := endCopies(x.path, x.keys); err != nil {
		return p, err
	}
	if ok && !ours && m.begun(x.path) {
		if copied, err := m.covers(x.path); err != nil {
			return p, err
		} else if copied {
			return prepared{SetAside: m.Aside.setAside(x.path, x.keys), to: m.to}, nil
		}
	}
	p.SetAside, err = l.putAside(x.keys, x.reason, x.at)
	return p, err
}

// sounds tells whether nothing is wrong with the log, which is locked.
func (l *Log) sounds() bool {
	src, err := open(l.path, false)
	if err != nil {
		return false
	}
	defer src.Close()
	_, err = Examine(src, l.keys)
	return errors.Is(err, ErrSound)
}

// firstID is the id of the log's first receipt.
func firstID(path string) (id string, err error) {
	src, err := open(path, false)
	if err != nil {
		return "", err
	}
	defer src.Close()
	err = each(src, func(raw []byte, _ bool) error {
		r, err := Parse(raw)
		id = r.ID
		return errors.Join(err, errStop)
	})
	if errors.Is(err, errStop) && id != "" {
		err = nil
	}
	return id, err
}

// begin empties the log and returns its first line; the old and the new key sign what was set aside. The log is locked.
// Before the secret keys are replaced the head is not by the key in use, so no receipt is appended.
func (x replacement) begin(l *Log, e *durable.End, p prepared) ([]byte, Receipt, error) {
	old, a := l.keys, p.Aside
	if err := (mark{Aside: a}).whole(x.path); err != nil {
		return nil, Receipt{}, err
	}
	// The name stays, so that the head is known as the new log's.
	k := &Keys{AdoptedHash: Genesis, Origin: cmp.Or(p.to, newOrigin())}
	r, err := a.receipt()
	if err == nil {
		err = k.renew(1)
	}
	if err != nil {
		return nil, r, err
	}
	l.keys, l.now, l.end, l.wrote, l.sign = k, head{0, Genesis, 0}, 0, nil, nil
	raw, err := l.next(&durable.End{}, &r)
	if err != nil {
		return nil, r, err
	}
	parts, err := countParts(x.path)
	if err != nil {
		return nil, r, err
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"note", func() error { return a.sign(x.path, k, old) }},
		{"public keys", func() error { return k.savePublicWith(x.keys, old) }},
		{"head", func() error { return replaceHead(x.path, k, l.now) }},
		{"settled", func() error { return l.settleAll(&Source{}, x.audit) }},
		{"tiles", func() error { return os.RemoveAll(tileDir(x.path)) }},
	}
	for i := range slices.Backward(make([]struct{}, parts)) {
		steps = append(steps, struct {
			name string
			do   func() error
		}{fmt.Sprint("part ", i), func() error { return os.Remove(partPath(x.path, i)) }})
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return nil, r, fmt.Errorf("begin a new log: %w", err)
		}
		if err := x.at(s.name); err != nil {
			return nil, r, err
		}
	}
	if err := e.Cut(0); err != nil {
		return nil, r, err
	}
	return raw, r, x.at("cut")
}

// commit makes the new keys those in use, and with them the new log. The log is locked; another process may have done
// it.
func (x replacement) commit(l *Log, committed bool) error {
	if !committed {
		h, err := readHead(x.path)
		if err != nil {
			return err
		}
		if mine, err := openHead(h, l.keys.Public); err != nil || mine != l.now {
			return errors.New("set the log aside: another process is setting it aside")
		}
		if err := l.keys.save(x.keys); err != nil {
			return err
		}
		if err := x.at("secret keys"); err != nil {
			return err
		}
	}
	return x.finish(l)
}

// finish removes what a set-aside needed until the new keys were those in use. The log is locked.
func (x replacement) finish(l *Log) error {
	if err := l.keys.savePublic(x.keys); err != nil {
		return err
	}
	if err := x.at("old public key"); err != nil {
		return err
	}
	if err := os.Remove(markPath(x.path)); err != nil {
		return fmt.Errorf("set the log aside: %w", err)
	}
	return errors.Join(removeUnfinished(x.keys), durable.SyncDir(sideDir(x.path)))
}

// receipt is the first of the new log.
func (a Aside) receipt() (Receipt, error) {
	args, err := record.Encode(a)
	if err != nil {
		return Receipt{}, err
	}
	r, _, err := of(record.ToolResult{Tool: asideTool, Args: args, Status: record.StatusFailed, Error: a.Fault},
		Attestation{By: Recovered})
	return r, err
}
