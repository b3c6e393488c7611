package memory

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// How far is looked back for entries whose lines a killed process has not written: by rows of the memory, by entries, and by bytes
// of the mirror.
const (
	lagRows    = 512
	lagEntries = 64
	lagBytes   = 1 << 20
)

// Before returns the entries of a conversation that were stored shortly before one of them, the newest first, and whether there
// are no older ones. It is bounded work.
func (s *Store) Before(e *Entry) (list []Entry, all bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id int64
	err = s.query(`SELECT id FROM entries WHERE record_id = ?`, func(st *sqlite3.Stmt) error { id = st.ColumnInt64(0); return nil }, e.ID)
	if err != nil || id == 0 {
		return nil, false, err
	}
	list, err = s.entries(`WHERE id BETWEEN ? AND ? AND +conversation_id = ? ORDER BY id DESC LIMIT ?`, id-lagRows, id-1, e.ConversationID, lagEntries)
	if err != nil || len(list) == lagEntries {
		return list, false, err
	}
	all = true
	err = s.query(`SELECT 1 FROM entries WHERE conversation_id = ? AND id < ? LIMIT 1`,
		func(*sqlite3.Stmt) error { all = false; return nil }, e.ConversationID, id-lagRows)
	return list, all, err
}

// appendSession writes the line of an entry to its session, after those that a process was killed before it wrote. Where nobody else has
// written since our own last line, there is nothing to look for.
func (m *Mirror) appendSession(root *os.Root, name string, e *Entry, line sessionLine) error {
	b, err := record.Encode(line)
	if err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b = append(b, '\n')
	end := info.Size()
	if m.Before != nil && (end == 0 || m.ends[name] != end) {
		if b, end, err = m.complete(root, f, name, e, b, end); err != nil {
			return err
		}
	}
	if len(b) == 0 {
		return nil
	}
	if _, err = f.Write(b); err != nil {
		return err
	}
	if m.ends == nil {
		m.ends = map[string]int64{}
	}
	m.ends[name] = end + int64(len(b))
	return nil
}

// complete puts the lines that are missing at the end of a session before the one that is to be written, and cuts off what is left of
// one that was being written. If it is known which are missing: the session has one of those before them, or there are none before.
func (m *Mirror) complete(root *os.Root, f *os.File, name string, e *Entry, line []byte, size int64) ([]byte, int64, error) {
	tail, size, err := wholeTail(f, size)
	if err != nil {
		return nil, 0, err
	}
	if has(tail, e.ID) { // another process has completed the session
		return nil, size, nil
	}
	before, all, err := m.Before(e)
	if err != nil || m.elsewhere(root, name) {
		return line, size, err
	}
	var lines [][]byte
	known := all && size == 0
	for _, x := range before {
		l, ok := x.sessionLine()
		if !ok {
			continue
		}
		if has(tail, x.ID) {
			known = true
			break
		}
		b, err := record.Encode(l)
		if err != nil {
			return nil, 0, err
		}
		lines = append(lines, append(b, '\n'))
	}
	if !known {
		return line, size, nil
	}
	slices.Reverse(lines)
	return append(bytes.Join(lines, nil), line...), size, nil
}

// wholeTail is the end of a session, of whole lines, each after a newline; and the session's size without what is left of a line.
func wholeTail(f *os.File, size int64) ([]byte, int64, error) {
	from := max(size-lagBytes, 0)
	tail := make([]byte, size-from)
	if _, err := f.ReadAt(tail, from); err != nil && err != io.EOF {
		return nil, 0, err
	}
	tail = append([]byte{'\n'}, tail...)
	whole := bytes.LastIndexByte(tail, '\n') + 1
	if whole < len(tail) && (whole > 1 || from == 0) {
		size = from + int64(whole) - 1
		if err := f.Truncate(size); err != nil {
			return nil, 0, fmt.Errorf("cut off the beginning of a line: %w", err)
		}
	}
	return tail[:whole], size, nil
}

// has tells whether there is a line of a record among lines, each after a newline.
func has(lines []byte, id string) bool {
	name, err := record.Encode(id)
	return err == nil && bytes.Contains(lines, append(append([]byte("\n{\"id\":"), name...), ','))
}

// elsewhere tells whether another agent has a mirror of the same conversation: what is missing here may be there.
func (m *Mirror) elsewhere(root *os.Root, name string) bool {
	agents, err := fs.ReadDir(root.FS(), ".")
	for _, a := range agents {
		other := path.Join(a.Name(), "sessions", path.Base(name))
		if _, err := root.Lstat(other); err == nil && other != name {
			return true
		}
	}
	return err != nil
}
