package memory

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
	"clawsh/lib/spelling"
)

// lagLines is how many lines may be missing at the end of a mirror for that to be no damage: a process that is killed
// leaves out one.
const lagLines = 4

// Difference is how a session's mirror differs from the memory: from which line on, and how many are missing. Behind
// tells that nothing but the last lines are missing, as a process leaves it that was killed before it wrote them.
type Difference struct {
	From, Missing int
	Behind        bool
}

// Any tells whether there is one.
func (d Difference) Any() bool { return d.From > 0 }

// String says it in words.
func (d Difference) String() string {
	if d.Behind {
		return fmt.Sprintf("it lacks the last %s, as after a crash: the next message in it or --repair-mirror writes them", spelling.Count(d.Missing, "line"))
	}
	return fmt.Sprintf("it differs from the memory from line %d on", d.From)
}

// Compare compares the mirror of a conversation with its entries. An agent that left the conversation to another has
// the beginning.
func (m *Mirror) Compare(conversation string, entries []Entry) (d Difference, err error) {
	if !mirrored(conversation) {
		return d, nil
	}
	want, err := session(entries)
	if err != nil {
		return d, err
	}
	same, changed := 0, -1
	err = m.each(conversation, func(root *os.Root, name string) error {
		f, err := root.OpenFile(name, os.O_RDONLY|noFollow, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		got, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
		if len(got) <= len(want) {
			got = got[:bytes.LastIndexByte(got, '\n')+1] // what stands after it is being written, or was
		}
		at := common(got, want)
		if same = max(same, at); at < len(got) {
			changed = at
		}
		return err
	})
	if err != nil || changed < 0 && same == len(want) {
		return d, err
	}
	if changed >= 0 {
		same = changed
	}
	d = Difference{From: bytes.Count(want[:same], []byte("\n")) + 1, Missing: bytes.Count(want[same:], []byte("\n"))}
	d.Behind = changed < 0 && (d.Missing == 1 || same > 0 && d.Missing <= lagLines)
	return d, nil
}

// common is how long the beginning is that two texts have in common.
func common(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// session is a whole session.
func session(entries []Entry) (all []byte, err error) {
	for _, e := range entries {
		line, ok := e.sessionLine()
		if !ok {
			continue
		}
		b, err := record.Encode(line)
		if err != nil {
			return nil, err
		}
		all = append(append(all, b...), '\n')
	}
	return all, nil
}

// session writes the line of an entry to its session, if that ends with the line before it; or else the whole session.
func (m *Mirror) session(root *os.Root, name string, e *Entry, line sessionLine) error {
	b, err := record.Encode(line)
	if err != nil {
		return err
	}
	f, err := open(root, name, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := m.Store.lineBefore(e)
	if err != nil {
		return err
	}
	if endsWith(f, before) {
		_, err = f.Write(append(b, '\n'))
		return err
	}
	_, entries, err := m.Store.Show(e.ConversationID)
	if errors.Is(err, ErrNotFound) { // deleted meanwhile
		return errors.Join(err, root.Remove(name))
	}
	if err == nil {
		b, err = session(entries)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Write(b)
	}
	return err
}

// lineBefore is the record whose line stands before that of an entry in its session: one of the same turn, or of the
// turn before.
func (s *Store) lineBefore(e *Entry) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const turnBefore = `(SELECT turn_id FROM turn_extents WHERE conversation_id = ?2 AND last_entry < (SELECT id FROM this)
		ORDER BY last_entry DESC LIMIT 1)`
	for _, turn := range []string{`?3`, turnBefore} { // each is read from its end, however long it is
		err = s.query(`WITH this AS (SELECT id FROM entries WHERE record_id = ?1)
			SELECT record_id, kind, metadata FROM entries WHERE conversation_id = ?2 AND id < (SELECT id FROM this) AND turn_id = `+turn+`
			AND ?3 <> '' ORDER BY id DESC`, func(st *sqlite3.Stmt) error {
			before := Entry{Kind: record.Kind(st.ColumnText(1)), Metadata: record.Raw(st.ColumnText(2))}
			if _, ok := before.sessionLine(); !ok {
				return nil
			}
			id = st.ColumnText(0)
			return errStop
		}, e.ID, e.ConversationID, e.TurnID)
		if id != "" || err != nil {
			break
		}
	}
	return id, err
}

// endsWith tells whether a session ends with the line of a record.
func endsWith(f *os.File, id string) bool {
	name, err := record.Encode(id)
	info, err2 := f.Stat()
	if err != nil || err2 != nil || info.Size() == 0 || id == "" {
		return false
	}
	for most := int64(16 << 10); ; most *= 16 { // most lines are short
		from := max(info.Size()-most, 0)
		tail := make([]byte, info.Size()-from)
		if _, err := f.ReadAt(tail, from); err != nil || tail[len(tail)-1] != '\n' {
			return false
		}
		if at := bytes.LastIndexByte(tail[:len(tail)-1], '\n') + 1; at > 0 || from == 0 {
			return bytes.HasPrefix(tail[at:], slices.Concat([]byte(`{"id":`), name, []byte(",")))
		}
	}
}

// each calls f for the mirrors of a conversation, which are those of the agents it was written for. Failures are of
// type *MirrorError.
func (m *Mirror) each(conversation string, f func(root *os.Root, name string) error) error {
	if !mirrored(conversation) {
		return nil
	}
	return m.glob("*/sessions/"+conversation+".jsonl", f)
}

func (m *Mirror) glob(pattern string, f func(root *os.Root, name string) error) error {
	root, err := m.openRoot()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &MirrorError{m.Dir, err}
	}
	defer root.Close()
	names, err := fs.Glob(root.FS(), pattern)
	errs := []error{err}
	for _, name := range names {
		if err := f(root, name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &MirrorError{m.Dir, err}
	}
	return nil
}

// Conversations are the ids that have a mirror, sorted.
func (m *Mirror) Conversations() ([]string, error) {
	var ids []string
	err := m.glob("*/sessions/*.jsonl", func(_ *os.Root, name string) error {
		if id := strings.TrimSuffix(path.Base(name), ".jsonl"); mirrored(id) {
			ids = append(ids, id)
		}
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// Rewrite makes the mirror of a conversation what its entries say, as one file, that of the agent. Writers are kept out
// meanwhile; a reader may see the file unfinished.
func (m *Mirror) Rewrite(agent, conversation string, entries []Entry) error {
	if err := m.names(agent, conversation); err != nil {
		return err
	}
	all, err := session(entries)
	if err != nil {
		return err
	}
	own := path.Join(agent, "sessions", conversation+".jsonl")
	err = m.each(conversation, func(root *os.Root, name string) error {
		if name == own {
			return nil
		}
		return root.Remove(name)
	})
	if err != nil {
		return err
	}
	root, err := m.root()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := rewrite(root, own, all); err != nil {
		return &MirrorError{path.Join(m.Dir, own), err}
	}
	return nil
}

func rewrite(root *os.Root, name string, all []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := open(root, name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(all)
	return err
}

// Remove removes the mirrors of conversations, and their lines from the traces. Links to them are left to Point.
func (m *Mirror) Remove(conversations ...string) error {
	var errs []error
	for _, id := range conversations {
		errs = append(errs, m.each(id, (*os.Root).Remove))
	}
	errs = append(errs, m.glob("*/agent.jsonl",
		func(root *os.Root, name string) error { return forget(root, name, conversations) }))
	return errors.Join(errs...)
}

// forget takes the lines of conversations out of a trace, in place: other processes hold rights to this very file.
func forget(root *os.Root, name string, conversations []string) error {
	f, err := open(root, name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	var line struct {
		ConversationID string `json:"conversation_id"`
	}
	in, end := bufio.NewScanner(f), int64(0)
	in.Buffer(nil, record.MaxLineBytes)
	for in.Scan() {
		line.ConversationID = ""
		if err := record.DecodeOpen(in.Bytes(), &line); err == nil &&
			slices.Contains(conversations, line.ConversationID) {
			continue
		}
		n, err := f.WriteAt(append(in.Bytes(), '\n'), end) // never behind what has been read
		if err != nil {
			return err
		}
		end += int64(n)
	}
	if err := in.Err(); err != nil {
		return err
	}
	return f.Truncate(end)
}

// Clear removes what Put wrote for all agents: sessions, and all lines of traces. Other files stay, soul.md among them.
func (m *Mirror) Clear() error {
	return errors.Join(m.glob("*/sessions/*.jsonl", (*os.Root).Remove), m.glob("*/agent.jsonl", empty))
}

// Point makes the agent's current.jsonl a link to the mirror of a conversation, if there is one, and removes it
// otherwise.
func (m *Mirror) Point(agent, conversation string) error {
	if !isFileName(agent) {
		return nil
	}
	root, err := m.openRoot()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &MirrorError{m.Dir, err}
	}
	defer root.Close()
	dir := path.Join(agent, "sessions")
	link := path.Join(dir, current+".jsonl")
	if mirrored(conversation) && isMode(root, path.Join(dir, conversation+".jsonl"), 0) {
		err = pointTo(root, dir, conversation+".jsonl")
	} else if isMode(root, link, fs.ModeSymlink) {
		err = root.Remove(link)
	}
	if err != nil {
		return &MirrorError{path.Join(m.Dir, link), err}
	}
	return nil
}

func isMode(root *os.Root, name string, kind fs.FileMode) bool {
	info, err := root.Lstat(name)
	return err == nil && info.Mode().Type() == kind
}

// Follow lets the link to an agent's current session follow what its latest conversation is now.
func (m *Mirror) Follow(s *Store, agent string) error {
	latest, err := s.Latest(agent)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return m.Point(agent, latest)
}
