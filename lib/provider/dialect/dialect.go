// Package dialect defines a dialect: how to ask servers of one protocol, and how to read their answers and errors.
// Each dialect has a package below this one. Package provider is the transport: it handles the connection, keys,
// limits, retries and silence, splits a stream into events, and knows nothing about the content of a body.
//
// A dialect need not withhold anything: the transport removes keys from every text, call and message that an Answer
// returns. Use Keys.Quote to quote a server in an error.
package dialect

import (
	"errors"

	"clawsh/lib/record"
)

// Dialect is one protocol. It is safe for concurrent use.
type Dialect interface {
	// Wire is what the transport needs to know.
	Wire() Wire
	// Ask encodes a question, without the fields that the server has rejected.
	Ask(q *Question) (record.Raw, error)
	// Refused returns the field of a body that a server rejects, by its error message; "" if there is none, or if the
	// field is required.
	Refused(words string, body record.Raw) string
	// Answer begins reading one answer.
	Answer(l Limits) Answer
	// Complaint reads the body of an error response, and sets the code.
	Complaint(status int, body []byte, k Keys) Complaint
	// Models reads the answer to Wire.List, a list of models in any order.
	Models(body []byte, k Keys) ([]Model, error)
}

// Wire says how servers of a dialect are reached. Paths are relative to base_url; an empty List means that there is
// none.
type Wire struct {
	Name                 string // as record.Original.Dialect has it
	Ask, List            string
	KeyHeader, KeyPrefix string
	Headers              map[string]string // of each request, before those of the configuration
}

// Question is what is asked: the request, and what the configuration adds to it.
type Question struct {
	*record.Request
	Provider    string // its own messages go back to it in their original form
	Model       string
	Temperature *float64
	MaxTokens   int             // 0: the server's default
	Extra       []record.Member // override everything else
	Without     map[string]bool // fields that the server rejects
}

// Limits bound an answer: the bytes of its text and arguments. Keys may not appear in its ids.
type Limits struct {
	Bytes int
	Keys  Keys
}

// Answer reads one answer, either complete or event by event. The texts that it returns are the pieces of the
// answer's text. An error is an Error of this package, a *Complaint, ErrDone for an end marker in a stream, or says
// how the answer is malformed.
type Answer interface {
	// Whole reads an answer that is not streamed.
	Whole(body []byte) (text string, err error)
	// Event reads an event of a stream. It must not keep data.
	Event(name string, data []byte) (text string, err error)
	// Complete reports whether the answer is complete even if the connection breaks now.
	Complete() bool
	// Rest ends the text and returns what was held back of it.
	Rest() string
	// Reply returns the answer. text is the text that was passed on, without keys.
	Reply(text string) (*Reply, error)
}

// Reply is an interpreted answer. Message goes back to the server in the next request; nil if nothing does.
type Reply struct {
	Model, Reasoning string
	Finish           string // a record.Finish…
	Calls            []Call
	Usage            record.Usage
	Message          record.Raw
}

// Call is a tool call: its id at the server, and its arguments as the model wrote them.
type Call struct{ ID, Name, Arguments string }

// Model is a model of a provider. ContextLength, in tokens, is 0 if the provider does not say.
type Model struct {
	ID            string `json:"id"`
	ContextLength int64  `json:"context_length,omitzero"`
	Configured    bool   `json:"configured"`
}

// Ends of an answer.
var (
	ErrDone     = errors.New("done")
	ErrTooLarge = errors.New("the answer is longer than limits.max_response_bytes")
	ErrFailed   = errors.New("the server reports that the answer failed")
)

// Limits of what a record can contain of an answer.
const (
	MaxReasoningBytes = 256 << 10
	MaxMessageBytes   = 1 << 20
	MaxIDBytes        = 200
)
