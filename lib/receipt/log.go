package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// Options say how a Log is kept.
type Options struct {
	// Keys is the directory of the keys (CreateKeys).
	Keys string
	// RotateBytes is the size that the log does not exceed: then what is in it becomes a part of its own. 0 is never.
	RotateBytes int64
}

// Log is the receipt log, shared between processes. It is not safe for concurrent use within one.
//
// An append is this sequence; what a crash behind each step leaves, and who recovers it:
//
//	lock, look           nothing
//	rotate: copy         a part that holds the same as the log: the next append cuts the log, Verify reads it once
//	rotate: cut          an empty log behind its parts
//	write                a torn receipt, which the next append moves away; or all of it, not yet acknowledged
//	unlock, sync         a receipt that the head does not count: the next append counts it
//	lock, write head     the whole
type Log struct {
	path  string
	o     Options
	log   *durable.Log
	keys  *Keys
	seen  os.FileInfo // of the file of keys
	now   head        // after our last append, or as found
	end   int64       // where the receipt that now names ends in the log, if we appended it; else 0
	wrote []byte      // the head that we wrote last; nil for none
	sign  chan signed // the head of our last append, while it is synced; nil if nothing signs it
	head  headFile    // kept open
}

// OpenLog opens the log at path, and creates it (0600) if it is missing. There must be keys.
func OpenLog(path string, o Options) (*Log, error) {
	l := &Log{path: path, o: o}
	if err := l.loadKeys(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(sideDir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the receipt log: %w", err)
	}
	var err error
	if l.log, err = durable.OpenLog(path, 0o600); err != nil {
		return nil, err
	}
	return l, nil
}

// loadKeys reads the keys, again if they have been replaced.
func (l *Log) loadKeys() error {
	secret, _ := keyFiles(l.o.Keys)
	info, err := os.Lstat(secret)
	if err == nil && l.seen != nil && os.SameFile(info, l.seen) && info.ModTime().Equal(l.seen.ModTime()) {
		return nil
	}
	keys, err := LoadKeys(l.o.Keys)
	if err != nil {
		return err
	}
	l.keys, l.seen = keys, info
	return nil
}

// Append writes the receipt of a result at the end of the chain and returns once it is synced to disk. A log whose end
// is not what its head names, or that has no head, has been tampered with: it is not continued (ErrTampered). Nobody
// vouches for the result: its receipt says so.
func (l *Log) Append(res record.ToolResult) (Receipt, error) {
	return l.AppendSealed(res, Attestation{})
}

// AppendSealed is Append for a result that was sealed. It gets one receipt, and a call that was allowed one only: if
// there is one already (Recover wrote it, or the same result came before) that is ErrExists. What an attempt with a
// permit that had expired has left under the id of the decision keeps no other result out.
func (l *Log) AppendSealed(res record.ToolResult, a Attestation) (Receipt, error) {
	r, ids, err := of(res, a)
	if err != nil {
		return r, err
	}
	late := res.Metadata.Permit == record.PermitExpired || res.Verdict != nil &&
		expired(res.Verdict.ExpiresAt, time.Now())
	err = l.log.AppendNext(true, func(e *durable.End) ([]byte, error) {
		if err := l.settle(e); err != nil {
			return nil, err
		}
		if err := l.name(e, &r, ids, late, res.Metadata.Permit != ""); err != nil {
			return nil, err
		}
		return l.next(e, &r)
	})
	return r, l.finish(err)
}

// name gives a receipt the first of the ids that no other has. refused means that the call did not run because it had
// no good permit.
func (l *Log) name(e *durable.End, r *Receipt, ids []string, late, refused bool) error {
	for i, id := range ids {
		there, err := l.find(e, id, late)
		if err != nil {
			return err
		}
		if there == nil {
			r.ID = id
			return nil
		}
		same := there.ArgsHash == r.ArgsHash && there.ResultHash == r.ResultHash && there.Status == r.Status
		if i == len(ids)-1 || same || there.Attestation == Recovered && !refused {
			return fmt.Errorf("%w: %s", ErrExists, id)
		}
	}
	return nil
}

// finish ends an append that came as far as err tells.
func (l *Log) finish(err error) error {
	if err != nil {
		l.end = 0 // whatever next had in mind, the log has to be read again
		return err
	}
	if err = l.writeHead(); err == nil && l.now.count%pageSize == 0 {
		_ = l.extend() // who needs the tiles and finds them missing makes them
	}
	return err
}

func expired(at string, now time.Time) bool {
	t, err := time.Parse(time.RFC3339, at)
	return err != nil || !now.Before(t)
}

// next is the line of a receipt that is to be the last. The log is settled.
func (l *Log) next(e *durable.End, r *Receipt) ([]byte, error) {
	r.PreviousHash = l.now.hash
	line := lineOf(*r)
	var h [64]byte
	line.sum(&h, nil)
	r.ReceiptHash = string(h[:])
	r.MAC = l.keys.mac(r.ReceiptHash)
	line = lineOf(*r)
	raw := line.encode()
	if limit := l.o.RotateBytes; limit > 0 && e.Size > 0 && e.Size+int64(len(raw)) >= limit {
		if err := l.rotate(e); err != nil {
			return nil, err
		}
	}
	l.now, l.end, l.sign = head{l.now.count + 1, r.ReceiptHash, l.now.size + int64(len(raw)) + 1},
		e.Size+int64(len(raw))+1, nil
	if e.Torn {
		l.end++ // the newline that is written before it
	}
	if e.Ours { // else others append too, and it is likely that one of them replaces the head by a later one
		l.sign = l.now.signing(l.keys)
	}
	return raw, nil
}

// rotate makes a part of what is in the log, and empties it. The log is locked.
func (l *Log) rotate(e *durable.End) error {
	parts, err := countParts(l.path)
	if err != nil {
		return err
	}
	dir := sideDir(l.path)
	f, err := os.CreateTemp(dir, ".part-")
	if err != nil {
		return fmt.Errorf("rotate the receipts: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, io.NewSectionReader(e, 0, e.Size))
	if e.Torn && err == nil { // the last receipt lacks its newline
		_, err = f.WriteString("\n")
	}
	if err = errors.Join(err, f.Chmod(0o400), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), partPath(l.path, parts))
	}
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("rotate the receipts: %w", err)
	}
	return e.Cut(0)
}

// writeHead brings the head up to date, unless another process has gone further.
func (l *Log) writeHead() error {
	return l.log.Locked(func(e *durable.End) error {
		same := l.head.same(l.path)
		if !e.Ours {
			raw, err := l.head.read(l.path)
			if err != nil {
				return err
			}
			if h, ok := l.unverified(raw); ok && h.count >= l.now.count {
				return nil // if nobody with the key wrote it, who comes next finds that
			}
		}
		mine := l.keys
		// as when keys were replaced since the receipt was written, which then sign no head any more that is believed
		if !same {
			if err := l.loadKeys(); err != nil {
				return err
			}
		}
		var s signed
		if l.sign != nil && l.keys == mine {
			s = <-l.sign
		} else {
			s = l.now.signed(l.keys)
		}
		if s.err != nil {
			return s.err
		}
		l.wrote = s.note
		if done, err := l.head.overwrite(s.note); done || err != nil {
			return err
		}
		return durable.Replace(headPath(l.path), s.note, 0o600)
	})
}

// unverified is what a head says, whoever wrote it.
func (l *Log) unverified(raw []byte) (head, bool) {
	text, _, _ := bytes.Cut(raw, []byte("\n\n"))
	h, err := parseHead(string(text)+"\n", l.keys.Origin)
	return h, err == nil
}

// Loss is what an operator who accepts a log knows to be lost: how many receipts are missing at its end according to
// its head, and the gate's log, none of whose calls is then reported as interrupted.
type Loss struct {
	Receipts int
	Audit    string
}

// Accept signs a head for the log as it is, after an operator has looked at it: for one whose head was lost. Its chain
// and macs must be good. If there is a good head that counts more receipts, their number must be that of the loss.
func Accept(path string, o Options, loss Loss) (Report, error) {
	l, err := OpenLog(path, o)
	if err != nil {
		return Report{}, err
	}
	defer l.Close()
	var rep Report
	err = l.log.Locked(func(*durable.End) error {
		src, err := open(path, false)
		if err != nil {
			return err
		}
		defer src.Close()
		if rep, err = Verify(src, Trust{Keys: l.keys, Require: LevelMac}); err != nil || !rep.Valid {
			return err
		}
		lost := 0
		if h, err := openHead(src.head, l.keys.Public); err == nil {
			lost = max(0, h.count-rep.Count)
		}
		if lost != loss.Receipts {
			return fmt.Errorf("%w: the head counts %s more than the log has, not %d", ErrTampered,
				spelling.Count(lost, "receipt"), loss.Receipts)
		}
		if lost > 0 {
			if err := l.settleAll(src, loss.Audit); err != nil {
				return err
			}
		}
		return replaceHead(path, l.keys, head{rep.Count, rep.LastHash, rep.bytes})
	})
	return rep, err
}

// Close syncs the head, which appends leave to the system, and closes the log.
func (l *Log) Close() error {
	var errs []error
	if f, err := openPart(headPath(l.path)); err == nil {
		errs = append(errs, f.Sync(), f.Close())
	}
	return errors.Join(append(errs, l.head.close(), l.log.Close())...)
}
