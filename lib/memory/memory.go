// Package memory keeps conversations in one SQLite file: what people wrote, what models answered, what tools returned.
//
// A Store is opened on a file, takes records as they pass by (Keep), and is asked in four ways: Conversations and Show
// list, Find finds, Context gives the recent turns back as messages for a model. DeleteAlso forgets conversations and
// ClearAlso everything; Check says what is wrong, Export and Import carry records elsewhere, Backup copies the file.
// The file may be used by any number of processes at once.
//
// # Promises
//
// A record that Keep returned nil for survives a crash of the process and of the machine: the file is in WAL mode with
// synchronous=FULL. Putting the same record again stores nothing. What a provider sent in its own format
// (raw_provider_payload) and permits are never stored. The file and its companions (-wal, -shm) are readable by their
// owner only. Deleted content is overwritten (secure_delete), and DeleteAlso and ClearAlso leave no byte of it.
//
// # The file
//
// The schema is in schema.go; application_id and user_version name it. A file of an earlier version is migrated by its
// first writer (migrate.go). A file of a later version is refused (ErrNewer), and so is any file that is not empty and
// not ours (ErrForeign). The file itself must not be a symbolic link; directories on the way to it may be.
//
// # The mirror
//
// Mirror writes the same conversations as JSON lines for jq and grep. It is a copy for people: not synced, and read
// only to be compared (Compare).
package memory

import (
	"errors"

	"clawsh/lib/envelope"
	"clawsh/lib/record"
)

// Reasons for which a Store refuses. They are wrapped; test with errors.Is.
var (
	ErrNotFound   = errors.New("not found")
	ErrAmbiguous  = errors.New("more than one conversation starts like this")
	ErrEmptyQuery = errors.New("the query is empty")
	ErrKind       = errors.New("records of this kind are not stored")
	ErrConflict   = errors.New("another record with this id is already stored")
	ErrDeleted    = errors.New("the conversation has been deleted meanwhile")
	ErrNewer      = errors.New("the file was written by a later version of clawsh")
	ErrForeign    = errors.New("the file is not a clawsh memory")
)

// Unfiled is the conversation of records that name none.
const Unfiled = "conv-unfiled"

// DefaultAgent is the agent of records for which none is named.
const DefaultAgent = "default"

// Conversation is the summary of one conversation. Title is its first user message on one line, at most 80 runes.
// StartedAt and UpdatedAt are in record.TimeFormat.
type Conversation struct {
	ID        string `json:"conversation_id"`
	Agent     string `json:"agent"`
	Title     string `json:"title"`
	StartedAt string `json:"started_at"`
	UpdatedAt string `json:"updated_at"`
	Turns     int    `json:"turns"`
	Entries   int    `json:"entries"`
	// ArchivedAt is when the conversation was put away, empty if it was not.
	ArchivedAt string `json:"archived_at,omitzero"`
	// Directory is the workspace in which it was last continued, empty if that is not known.
	Directory string `json:"directory,omitzero"`
}

// Entry is one stored record. Kind is that of the record; Role is user, assistant or tool. Content is what Find
// looks at: the user's text, the model's text, or a tool's output with its error behind it. The content of a final is
// empty when it repeats the turn's last response.
type Entry struct {
	ID             string            `json:"id"`
	ConversationID string            `json:"conversation_id"`
	TurnID         string            `json:"turn_id"`
	TS             string            `json:"ts"`
	Kind           record.Kind       `json:"kind"`
	Role           string            `json:"role"`
	Content        string            `json:"content"`
	ToolCalls      []record.CallPart `json:"tool_calls,omitzero"`
	ToolResults    []Result          `json:"tool_results,omitzero"`
	Tool           string            `json:"tool,omitzero"`
	Provider       string            `json:"provider,omitzero"`
	Model          string            `json:"model,omitzero"`
	ReceiptID      string            `json:"receipt_id,omitzero"`
	Metadata       record.Raw        `json:"metadata,omitzero"`

	usage *record.Usage // of a response, on its way to the file
}

// Result is what became of a tool call. Its output is the first OutputBytes bytes of the entry's content. Verdict is
// stored without the permit.
type Result struct {
	ID          string          `json:"id"`
	Tool        string          `json:"tool"`
	Args        record.Raw      `json:"args,omitzero"`
	Status      string          `json:"status"`
	Success     bool            `json:"success"`
	OutputBytes int             `json:"output_bytes"`
	Error       string          `json:"error,omitzero"`
	Verdict     *record.Verdict `json:"verdict,omitzero"`
}

// notFound is ErrNotFound as commands report it.
func notFound(hint, format string, args ...any) error {
	return envelope.Errorf(envelope.ExitError, "not_found", format+": %w", append(args, ErrNotFound)...).
		WithHint("%s", hint)
}
