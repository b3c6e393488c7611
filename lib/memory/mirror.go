package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"clawsh/lib/record"
)

// Mirror copies conversations as JSON lines to files below Dir, the home's agents directory:
//
//	ID/sessions/CONVERSATION.jsonl   what was said: one line for each user, response and tool_result
//	ID/sessions/current.jsonl        relative symbolic link to the conversation written to last
//	ID/agent.jsonl                   what happened: one line of at most a few hundred bytes for each record
//
// Directories are 0700, files 0600; a line is one write. Nothing is synced, and nothing is read but to be compared: the
// database of Store is the truth. A session that does not end with the line before the one to be written, because a
// process was killed or for whatever reason, is written anew. A final is written to the session only if it says more
// than the last response, that is, if its stop reason is not final_text.
type Mirror struct {
	Dir   string
	Store *Store
}

// MirrorError is a failure to mirror. The record itself may be stored: log it and go on.
type MirrorError struct {
	Path string
	Err  error
}

// Error says which file could not be written and why.
func (e *MirrorError) Error() string { return fmt.Sprintf("mirror session to %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *MirrorError) Unwrap() error { return e.Err }

// ErrName means that an agent or conversation id cannot be a file name.
var ErrName = errors.New("id is not usable as a file name")

// current is the link's name, so no conversation can have it; case does not matter on some file systems.
const current = "current"

// isFileName tells whether an id can be a file's name everywhere: 1 to 80 letters, digits, _ and -.
func isFileName(id string) bool {
	other := strings.IndexFunc(id, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-')
	})
	return other < 0 && 1 <= len(id) && len(id) <= 80
}

type sessionLine struct {
	ID             string            `json:"id,omitzero"`
	TS             string            `json:"ts"`
	ConversationID string            `json:"conversation_id"`
	TurnID         string            `json:"turn_id"`
	Role           string            `json:"role"`
	Content        string            `json:"content"`
	ToolCalls      []record.CallPart `json:"tool_calls,omitzero"`
	Tool           string            `json:"tool,omitzero"`
	Status         string            `json:"status,omitzero"`
	ReceiptID      string            `json:"receipt_id,omitzero"`
}

type traceLine struct {
	TS             string `json:"ts"`
	Agent          string `json:"agent"`
	Event          string `json:"event"`
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
	Message        string `json:"message"`
}

// maxTraceBytes bounds the message of a trace line.
const maxTraceBytes = 200

// Put mirrors an entry as the store keeps it, for the agent that it was written for. All failures are of type
// *MirrorError.
func (m *Mirror) Put(e *Entry, agent string) error {
	if err := m.names(agent, e.ConversationID); err != nil {
		return err
	}
	root, err := m.root()
	if err != nil {
		return err
	}
	defer root.Close()
	return m.put(root, e, agent)
}

// root opens Dir, and makes it if it is missing. A root keeps links below it from leading out of it.
func (m *Mirror) root() (*os.Root, error) {
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return nil, &MirrorError{m.Dir, err}
	}
	root, err := m.openRoot()
	if err != nil {
		return nil, &MirrorError{m.Dir, err}
	}
	return root, nil
}

// openRoot opens Dir, which must be a directory itself, and the same one when it is open: nothing is written where a
// link leads.
func (m *Mirror) openRoot() (*os.Root, error) {
	info, err := os.Lstat(m.Dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is a link or a file, not a directory: move it away")
	}
	root, err := os.OpenRoot(m.Dir)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, errors.New("it has just changed: somebody else is modifying it")
	}
	return root, nil
}

func (m *Mirror) names(agent, conversation string) error {
	if !isFileName(agent) {
		return &MirrorError{m.Dir, fmt.Errorf("agent %q: %w", agent, ErrName)}
	}
	if !mirrored(conversation) {
		return &MirrorError{m.Dir, fmt.Errorf("conversation %q: %w", conversation, ErrName)}
	}
	return nil
}

// mirrored tells whether a conversation's id can be the name of a file.
func mirrored(conversation string) bool {
	return isFileName(conversation) && !strings.EqualFold(conversation, current)
}

// put writes the session first: of a conversation that is gone, nothing is traced either.
func (m *Mirror) put(root *os.Root, e *Entry, agent string) error {
	dir := path.Join(agent, "sessions")
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return &MirrorError{path.Join(m.Dir, dir), err}
	}
	var failed error
	file := path.Join(dir, e.ConversationID+".jsonl")
	if line, ok := e.sessionLine(); ok {
		err := m.session(root, file, e, line)
		if errors.Is(err, ErrNotFound) {
			return &MirrorError{path.Join(m.Dir, file), err}
		}
		if err == nil {
			file = path.Join(dir, current+".jsonl")
			err = pointTo(root, dir, e.ConversationID+".jsonl")
		}
		if err != nil {
			failed = &MirrorError{path.Join(m.Dir, file), err}
		}
	}
	trace := traceLine{TS: e.TS, Agent: agent, ConversationID: e.ConversationID, TurnID: e.TurnID}
	if f, ok := forms[e.Kind]; ok {
		trace.Event, trace.Message = f.event, record.Shorten(f.tell(e), maxTraceBytes)
	}
	file = path.Join(agent, "agent.jsonl")
	// a session does not go without its line for want of a trace
	if err := appendLine(root, file, trace); err != nil && failed == nil {
		failed = &MirrorError{path.Join(m.Dir, file), err}
	}
	return failed
}

// sessionLine is an entry's line in its session, if it has one.
func (e *Entry) sessionLine() (sessionLine, bool) {
	line := sessionLine{ID: e.ID, TS: e.TS, ConversationID: e.ConversationID, TurnID: e.TurnID, Role: e.Role,
		Content:   e.Content,
		ToolCalls: e.ToolCalls, Tool: e.Tool, ReceiptID: e.ReceiptID}
	if len(e.ToolResults) > 0 {
		line.Status = e.ToolResults[0].Status
	}
	if e.Kind == record.KindFinal {
		line.Status = e.final().StopReason
	}
	f, ok := forms[e.Kind]
	return line, ok && f.said(e)
}

// final is the metadata of a final.
func (e *Entry) final() (m finalMeta) {
	_ = decodeMeta(e.Metadata, &m) // written by ourselves; an unreadable one says nothing
	return m
}

// noFollow opens no link, and waits for nobody.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// open opens a file and keeps others from changing it until it is closed.
func open(root *os.Root, name string, flags int) (*os.File, error) {
	f, err := root.OpenFile(name, flags|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func appendLine(root *os.Root, name string, v any) error {
	b, err := record.Encode(v)
	if err != nil {
		return err
	}
	f, err := open(root, name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(b, '\n'))
	return err
}

// lock keeps others from changing the file until it is closed. Whoever holds it for long has no business with it.
func lock(f *os.File) error {
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("lock it: %w", err)
		}
	}
}

// pointTo makes dir/current.jsonl a link to target, replacing a link but nothing else.
func pointTo(root *os.Root, dir, target string) error {
	link := path.Join(dir, current+".jsonl")
	info, err := root.Lstat(link)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink == 0:
		return errors.New("it is not a symbolic link; move it away")
	case err == nil:
		if now, err := root.Readlink(link); err == nil && now == target {
			return nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	temp := path.Join(dir, record.NewID(".current-"))
	if err := root.Symlink(target, temp); err != nil {
		return err
	}
	if err := root.Rename(temp, link); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// empty takes all lines out of a trace, in place: other processes hold rights to this very file. What is no file is
// removed.
func empty(root *os.Root, name string) error {
	if !isMode(root, name, 0) {
		return root.Remove(name)
	}
	f, err := open(root, name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(0)
}
