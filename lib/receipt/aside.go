package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// Reasons for which a log is not set aside; test with errors.Is.
var (
	ErrSound      = errors.New("the log is sound")
	ErrAcceptable = errors.New("chain and macs of the log are good")
)

// asideTool is the tool in the first receipt of a log that took the place of one that was set aside.
const asideTool = "receipts_set_aside"

const (
	asidePrefix = "aside-"
	asideLabel  = "/aside\n"
	asideNote   = "note"
)

// Aside says what a log was when it was set aside: it is the arguments of the new log's first receipt, and of the signed note.
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

// Examine tells whether a log is one to set aside, and what is wrong with it: nothing is (ErrSound), or what only a head lacks that an
// operator can sign (ErrAcceptable), is not.
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

// Replace sets a damaged log aside whole, with its head and its keys, and begins another with new keys, whose first receipt names the
// old one. None of the calls that the gate has decided about so far is taken for interrupted. A crash on the way leaves a log that is
// damaged, and a copy of it beside it: then it is done again.
func Replace(path string, o Options, audit, reason string) (SetAside, error) {
	l, err := OpenLog(path, Options{Keys: o.Keys}) // one receipt is no reason to rotate
	if err != nil {
		return SetAside{}, err
	}
	defer l.Close()
	var done SetAside
	err = l.log.AppendNext(true, func(e *durable.End) ([]byte, error) {
		var r Receipt
		if done, err = l.putAside(o.Keys, reason); err == nil {
			r, err = done.receipt()
		}
		if err == nil {
			err = l.begin(e, o.Keys, audit, filepath.Join(filepath.Dir(done.Log), asideNote), done.Aside)
		}
		if err != nil {
			return nil, err
		}
		done.NewOrigin, done.ReceiptID = l.keys.Origin, r.ID
		return l.next(e, &r)
	})
	return done, l.finish(err)
}

// receipt is the first of the new log.
func (a Aside) receipt() (Receipt, error) {
	args, err := record.Encode(a)
	if err != nil {
		return Receipt{}, err
	}
	r, _, err := of(record.ToolResult{Tool: asideTool, Args: args, Status: record.StatusFailed, Error: a.Fault}, Attestation{By: Recovered})
	return r, err
}

// putAside copies log, parts, head and keys. The log is locked.
func (l *Log) putAside(keys, reason string) (SetAside, error) {
	src, err := open(l.path, false)
	if err != nil {
		return SetAside{}, err
	}
	defer src.Close()
	rep, err := Examine(src, l.keys)
	if err != nil {
		return SetAside{}, err
	}
	now := time.Now().UTC()
	name := asidePrefix + now.Format("20060102T150405.000000000Z")
	side := sideDir(l.path)
	tmp, dst := filepath.Join(side, "."+name), filepath.Join(side, name)
	s := SetAside{Log: filepath.Join(dst, filepath.Base(l.path)), Keys: filepath.Join(keys, name), Aside: Aside{At: now.Format(record.TimeFormat), Origin: l.keys.Origin,
		Lines: rep.Count, FirstBad: rep.FirstBad, LastGood: rep.LastHash, HeadSays: rep.HeadCount, Fault: rep.Reason, Reason: reason}}
	copied := filepath.Join(tmp, filepath.Base(l.path))
	if err := os.MkdirAll(sideDir(copied), 0o700); err != nil {
		return s, err
	}
	sum := sha256.New()
	for i := range src.parts {
		if err := copyPart(partPath(copied, i), partPath(l.path, i), sum); err != nil {
			return s, err
		}
	}
	if err := copyPart(copied, l.path, sum); err != nil {
		return s, err
	}
	if src.head != nil {
		err = durable.Replace(headPath(copied), src.head, 0o400)
	}
	if s.Bytes, err = total(err, src); err != nil {
		return s, err
	}
	s.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := l.keys.copyTo(s.Keys, keys); err != nil {
		return s, err
	}
	if err := errors.Join(durable.SyncDir(sideDir(copied)), durable.SyncDir(tmp), os.Rename(tmp, dst)); err != nil {
		return s, fmt.Errorf("set the log aside: %w", err)
	}
	return s, durable.SyncDir(side)
}

func total(err error, src *Source) (int64, error) {
	if err != nil {
		return 0, err
	}
	return src.Size()
}

// copyPart copies a file, read-only, and syncs it. Its bytes go into a sum, too.
func copyPart(to, from string, sum io.Writer) error {
	in, err := openPart(from)
	if err != nil {
		return fmt.Errorf("set the log aside: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return fmt.Errorf("set the log aside: %w", err)
	}
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		err = fmt.Errorf("set the log aside: %w", err)
	}
	return err
}

// copyTo copies the files of the keys.
func (k *Keys) copyTo(dst, from string) error {
	if err := os.MkdirAll(dst, 0o700); err != nil {
		return fmt.Errorf("set the keys aside: %w", err)
	}
	secret, public := keyFiles(from)
	for _, path := range []string{secret, public} {
		raw, err := durable.ReadPrivate(path, 0o022)
		if err == nil {
			err = durable.Replace(filepath.Join(dst, filepath.Base(path)), raw, 0o400)
		}
		if err != nil {
			return fmt.Errorf("set the keys aside: %w", err)
		}
	}
	return nil
}

// begin empties the log and gives it new keys; the old and the new one sign what was set aside. The log is locked. The secret key comes
// last: until it is there, the head is not that of the log, and no receipt is appended.
func (l *Log) begin(e *durable.End, dir, audit, notePath string, a Aside) error {
	old, parts, err := l.keys, 0, error(nil)
	k := &Keys{AdoptedHash: Genesis}
	if k.Origin = newOrigin(); k.Origin == old.Origin {
		return errors.New("two logs have one name")
	}
	if err := k.renew(1); err != nil {
		return err
	}
	text, err := record.Encode(a)
	if err != nil {
		return err
	}
	signed, err := note.Sign(&note.Note{Text: k.Origin + asideLabel + string(text) + "\n"}, k.signer, old.signer)
	if err == nil {
		err = durable.Replace(notePath, signed, 0o400)
	}
	if err == nil {
		parts, err = countParts(l.path)
	}
	if err != nil {
		return err
	}
	for i := range slices.Backward(make([]struct{}, parts)) {
		if err := os.Remove(partPath(l.path, i)); err != nil {
			return err
		}
	}
	if err := errors.Join(os.RemoveAll(tileDir(l.path)), e.Cut(0)); err != nil {
		return err
	}
	if err := errors.Join(replaceHead(l.path, k, head{0, Genesis, 0}), k.savePublic(dir)); err != nil {
		return err
	}
	l.keys = k
	if err := l.settleAll(&Source{}, audit); err != nil {
		return err
	}
	l.now, l.end, l.wrote, l.sign = head{0, Genesis, 0}, 0, nil, nil
	return k.save(dir)
}
