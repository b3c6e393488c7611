package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// putAside copies log, parts, head and keys. The log is locked.
func (l *Log) putAside(keys, reason string, at func(string) error) (s SetAside, err error) {
	src, err := open(l.path, false)
	if err != nil {
		return s, err
	}
	defer src.Close()
	rep, err := Examine(src, l.keys)
	if err != nil {
		return s, err
	}
	a := Aside{At: time.Now().UTC().Format(record.TimeFormat), Origin: l.keys.Origin, Lines: rep.Count,
		FirstBad: rep.FirstBad,
		LastGood: rep.LastHash, HeadSays: rep.HeadCount, Fault: rep.Reason, Reason: reason}
	dst, err := a.dir(l.path)
	if err != nil {
		return s, err
	}
	side := sideDir(l.path)
	tmp := unfinished(dst)
	if a.Bytes, a.SHA256, err = l.copyTo(tmp, src, at); err != nil {
		return s, err
	}
	s = a.setAside(l.path, keys)
	if err := l.keys.copyTo(unfinished(s.Keys), keys); err != nil {
		return s, err
	}
	if err := at("copies"); err != nil {
		return s, err
	}
	if err := errors.Join(durable.SyncDir(tmp), os.Rename(tmp, dst), durable.SyncDir(side)); err != nil {
		return s, fmt.Errorf("set the log aside: %w", err)
	}
	if err := at("aside"); err != nil {
		return s, err
	}
	return s, errors.Join(finishKeys(s.Keys), at("keys aside"))
}

// unfinished is the name that a copy has until it is whole.
func unfinished(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir))
}

// finishKeys gives the keys of a copy that is whole their name.
func finishKeys(dir string) error {
	if err := errors.Join(os.Rename(unfinished(dir), dir), durable.SyncDir(filepath.Dir(dir))); err != nil {
		return fmt.Errorf("set the keys aside: %w", err)
	}
	return nil
}

// copyTo copies the files of a log, and returns their size and sum.
func (l *Log) copyTo(dir string, src *Source, at func(string) error) (size int64, sum string, err error) {
	copied := filepath.Join(dir, filepath.Base(l.path))
	if err := os.MkdirAll(sideDir(copied), 0o700); err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	for i := range src.parts {
		if err := copyPart(partPath(copied, i), partPath(l.path, i), hash); err != nil {
			return 0, "", err
		}
		if err := at(fmt.Sprint("copy ", i)); err != nil {
			return 0, "", err
		}
	}
	if err := copyPart(copied, l.path, hash); err != nil {
		return 0, "", err
	}
	if src.head != nil {
		err = durable.Replace(headPath(copied), src.head, 0o400)
	}
	if err == nil {
		err = durable.SyncDir(sideDir(copied))
	}
	if err == nil {
		size, err = src.Size()
	}
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// endCopies ends a copying that was interrupted: what was finished keeps its keys, the rest is removed. The log is
// locked. Of keys only names in their own directory are believed: whoever can write beside the log is not to have keys
// removed, nor a copy that has its note.
func endCopies(log, keys string) error {
	left, err := filepath.Glob(filepath.Join(keys, "."+asidePrefix+"*"))
	for _, dir := range left {
		name := strings.TrimPrefix(filepath.Base(dir), ".")
		if _, missing := os.Lstat(filepath.Join(sideDir(log), name)); missing == nil {
			err = errors.Join(err, finishKeys(filepath.Join(keys, name)))
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	copies, bad := filepath.Glob(filepath.Join(sideDir(log), "."+asidePrefix+"*"))
	for _, dir := range copies {
		if _, missing := os.Lstat(filepath.Join(dir, asideNote)); errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return errors.Join(err, bad)
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
