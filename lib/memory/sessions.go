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
	"syscall"

	"clawsh/lib/record"
)

// maxMirrored bounds what is read of a mirror that somebody else has written to.
const maxMirrored = 256 << 20

// lagLines is how many lines may be missing at the end of a mirror for that to be no damage: a process that is killed leaves out one.
const lagLines = 4

// Difference is how a session's mirror differs from the memory: how many lines are missing, how many are there that should
// not be, how many say something else.
// Behind tells that nothing but the last lines are missing, as a process leaves it that was killed before it wrote them.
type Difference struct {
	Missing, Extra, Different int
	Behind                    bool
}

// Any tells whether there is one.
func (d Difference) Any() bool { return d != Difference{} }

// String says it in words.
func (d Difference) String() string {
	if d.Behind {
		return fmt.Sprintf("its last %d lines are not written yet, as after a crash: the next message in it or --repair-mirror writes them", d.Missing)
	}
	return fmt.Sprintf("%d lines are missing, %d are not in the memory, %d are different", d.Missing, d.Extra, d.Different)
}

// Compare compares the mirrors of a conversation, of whichever agents, with its entries. Lines are told apart by their ids;
// those that were written without one, by what they say. Their order does not count: several processes may write.
func (m *Mirror) Compare(conversation string, entries []Entry) (Difference, error) {
	var d Difference
	if !mirrored(conversation) {
		return d, nil
	}
	want, bare := map[string]string{}, map[string]int{}
	for _, e := range entries {
		line, ok := e.sessionLine()
		if !ok {
			continue
		}
		whole, err := record.Encode(line)
		if err != nil {
			return d, err
		}
		want[e.ID] = string(whole)
	}
	lines, err := m.lines(conversation)
	if err != nil {
		return d, err
	}
	for _, l := range lines {
		var head struct {
			ID string `json:"id"`
		}
		err := record.DecodeOpen(l, &head)
		expected, known := want[head.ID]
		switch {
		case err == nil && head.ID == "":
			bare[string(l)]++
		case err != nil || !known:
			d.Extra++
		case expected != string(l):
			d.Different++
			fallthrough
		default:
			delete(want, head.ID) // the next one of this id is one too many
		}
	}
	d.matchBare(want, bare)
	for _, e := range slices.Backward(entries) {
		if _, missing := want[e.ID]; missing {
			delete(want, e.ID)
		} else if _, ok := e.sessionLine(); ok {
			break
		}
	}
	most := lagLines
	if len(lines) == 0 {
		most = 1
	}
	d.Behind = 0 < d.Missing && d.Missing <= most && d.Extra+d.Different+len(want) == 0
	return d, nil
}

// matchBare finds the lines without ids that are left.
func (d *Difference) matchBare(want map[string]string, bare map[string]int) {
	for id, whole := range want {
		name, err := record.Encode(id)
		without := strings.Replace(whole, `"id":`+string(name)+",", "", 1)
		if err == nil && bare[without] > 0 {
			bare[without]--
			delete(want, id)
			continue
		}
		d.Missing++
	}
	for _, n := range bare {
		d.Extra += n
	}
}

// lines are those of all mirrors of a conversation.
func (m *Mirror) lines(conversation string) (lines [][]byte, err error) {
	err = m.each(conversation, func(root *os.Root, name string) error {
		b, err := readMirror(root, name)
		whole := b[:bytes.LastIndexByte(b, '\n')+1] // what stands after it is being written, or was
		if len(b) == maxMirrored {
			whole = b
		}
		for _, l := range bytes.Split(whole, []byte("\n")) {
			if len(l) > 0 {
				lines = append(lines, l)
			}
		}
		return err
	})
	return lines, err
}

func readMirror(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMirrored))
}

// each calls f for the mirrors of a conversation, which are those of the agents it was written for. Failures are of type
// *MirrorError.
func (m *Mirror) each(conversation string, f func(root *os.Root, name string) error) error {
	if !mirrored(conversation) {
		return nil
	}
	return m.glob("*/sessions/"+conversation+".jsonl", f)
}

func (m *Mirror) glob(pattern string, f func(root *os.Root, name string) error) error {
	root, err := os.OpenRoot(m.Dir)
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
	own := path.Join(agent, "sessions", conversation+".jsonl")
	err := m.each(conversation, func(root *os.Root, name string) error {
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
	if err := rewrite(root, own, entries); err != nil {
		return &MirrorError{path.Join(m.Dir, own), err}
	}
	return nil
}

func rewrite(root *os.Root, name string, entries []Entry) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return err
	}
	var all []byte
	for _, e := range entries {
		line, ok := e.sessionLine()
		if !ok {
			continue
		}
		b, err := record.Encode(line)
		if err != nil {
			return err
		}
		all = append(append(all, b...), '\n')
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(all, 0)
	return err
}

// Remove removes the mirrors of conversations, and their lines from the traces. Links to them are left to Point.
func (m *Mirror) Remove(conversations ...string) error {
	var errs []error
	for _, id := range conversations {
		errs = append(errs, m.each(id, func(root *os.Root, name string) error { return root.Remove(name) }))
	}
	errs = append(errs, m.glob("*/agent.jsonl", func(root *os.Root, name string) error { return forget(root, name, conversations) }))
	return errors.Join(errs...)
}

// forget takes the lines of conversations out of a trace, in place: other processes hold rights to this very file.
func forget(root *os.Root, name string, conversations []string) error {
	f, err := root.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return err
	}
	var line struct {
		ConversationID string `json:"conversation_id"`
	}
	in, end := bufio.NewScanner(f), int64(0)
	in.Buffer(nil, record.MaxLineBytes)
	for in.Scan() {
		line.ConversationID = ""
		if err := record.DecodeOpen(in.Bytes(), &line); err == nil && slices.Contains(conversations, line.ConversationID) {
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

// Point makes the agent's current.jsonl a link to the mirror of a conversation, if there is one, and removes it otherwise.
func (m *Mirror) Point(agent, conversation string) error {
	if !isFileName(agent) {
		return nil
	}
	root, err := os.OpenRoot(m.Dir)
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
