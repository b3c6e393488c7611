package memory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"

	"clawsh/lib/record"
)

// Mirror copies conversations as JSON lines to files below Dir, the home's agents directory:
//
//	ID/sessions/CONVERSATION.jsonl   what was said: one line for each user, response and tool_result
//	ID/sessions/current.jsonl        relative symbolic link to the conversation written to last
//	ID/agent.jsonl                   what happened: one line of at most a few hundred bytes for each record
//
// Directories are 0700, files 0600; a line is one write. Nothing is synced: the database is the truth. A record put
// twice is mirrored twice. A final is written to the session only if it says more than the last response, that is, if
// its stop reason is not final_text.
type Mirror struct{ Dir string }

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

var fileName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

type sessionLine struct {
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

// Put mirrors a record of the kinds that Store.Put takes; agent is as there. All failures are of type *MirrorError.
func (m *Mirror) Put(line record.Line, agent string) error {
	e, own, err := entryOf(line)
	if err != nil {
		return &MirrorError{m.Dir, err}
	}
	agent = cmp.Or(agent, own, DefaultAgent)
	if !fileName.MatchString(agent) {
		return &MirrorError{m.Dir, fmt.Errorf("agent %q: %w", agent, ErrName)}
	}
	if !fileName.MatchString(e.ConversationID) || strings.EqualFold(e.ConversationID, current) {
		return &MirrorError{m.Dir, fmt.Errorf("conversation %q: %w", e.ConversationID, ErrName)}
	}
	// A root keeps links below Dir from leading out of it.
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return &MirrorError{m.Dir, err}
	}
	root, err := os.OpenRoot(m.Dir)
	if err != nil {
		return &MirrorError{m.Dir, err}
	}
	defer root.Close()
	return m.put(root, line, &e, agent)
}

func (m *Mirror) put(root *os.Root, line record.Line, e *Entry, agent string) error {
	dir := path.Join(agent, "sessions")
	trace := traceLine{TS: e.TS, Agent: agent, ConversationID: e.ConversationID, TurnID: e.TurnID}
	trace.Event, trace.Message = describe(line, e)
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return &MirrorError{path.Join(m.Dir, dir), err}
	}
	file := path.Join(agent, "agent.jsonl")
	err := appendLine(root, file, trace)
	if err == nil && e.Kind != record.KindSummary && (e.Kind != record.KindFinal || line.Text("stop_reason") != record.StopFinalText) {
		file = path.Join(dir, e.ConversationID+".jsonl")
		err = appendLine(root, file, sessionLine{TS: e.TS, ConversationID: e.ConversationID, TurnID: e.TurnID,
			Role: e.Role, Content: e.Content, ToolCalls: e.ToolCalls, Tool: e.Tool, Status: statusOf(line), ReceiptID: e.ReceiptID})
		if err == nil {
			file = path.Join(dir, current+".jsonl")
			err = pointTo(root, dir, e.ConversationID+".jsonl")
		}
	}
	if err != nil {
		return &MirrorError{path.Join(m.Dir, file), err}
	}
	return nil
}

// statusOf is a tool result's status or a final's stop reason.
func statusOf(line record.Line) string {
	if line.Kind() == record.KindFinal {
		return line.Text("stop_reason")
	}
	return line.Text("status")
}

func appendLine(root *os.Root, name string, v any) error {
	b, err := record.Encode(v)
	if err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(b, '\n'))
	return err
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

// Clear removes what Put wrote for all agents: sessions and traces. Other files stay, soul.md among them.
func (m *Mirror) Clear() error {
	root, err := os.OpenRoot(m.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &MirrorError{m.Dir, err}
	}
	defer root.Close()
	var errs []error
	for _, pattern := range []string{"*/sessions/*.jsonl", "*/agent.jsonl"} {
		names, err := fs.Glob(root.FS(), pattern)
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, root.Remove(name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &MirrorError{m.Dir, err}
	}
	return nil
}
