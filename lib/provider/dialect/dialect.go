// Package dialect says what a dialect is: how servers of one protocol are asked, and how their answers and errors are read. Each has a
// package below this one. Package provider is the transport: it has the connection, the keys, limits, retries and silence, cuts a
// stream into events, and knows nothing of what stands in a body.
//
// A dialect need not withhold anything: the transport takes keys out of every text, call and message that an Answer returns. What a
// dialect quotes of a server in an error goes through Keys.Quote.
package dialect

import (
	"errors"

	"clawsh/lib/record"
)

// Dialect is one protocol. It is safe for concurrent use.
type Dialect interface {
	// Wire is what the transport needs to know.
	Wire() Wire
	// Ask encodes a question. Fields that the server was found not to take are left out.
	Ask(q *Question) (record.Raw, error)
	// Refused names the field of a body that a server refuses, by its words in an error; "" for none, or one that must be there.
	Refused(words string, body record.Raw) string
	// Answer begins the reading of one answer.
	Answer(l Limits) Answer
	// Complaint reads the body of an error that came with a status; its code is set.
	Complaint(status int, body []byte, k Keys) Complaint
	// Models reads the list of models that Wire.List answers with, in any order.
	Models(body []byte, k Keys) ([]Model, error)
}

// Wire is how servers of a dialect are reached. Paths are below base_url; an empty List means that there is none.
type Wire struct {
	Name                 string // as record.Original.Dialect has it
	Ask, List            string
	KeyHeader, KeyPrefix string
	Headers              map[string]string // of each request; the configuration's come after them
}

// Question is what is asked: the request, and what the configuration adds to it.
type Question struct {
	*record.Request
	Provider    string // its own messages go back to it as they came
	Model       string
	Temperature *float64
	MaxTokens   int             // 0: as the server likes
	Extra       []record.Member // go before everything else
	Without     map[string]bool // fields that the server does not take
}

// Limits are what an answer is held to: its bytes of text and arguments. Keys are those that it must not bear as ids.
type Limits struct {
	Bytes int
	Keys  Keys
}

// Answer reads one answer, either a whole one or event by event. The texts that it returns are the answer's text, piece by piece.
// An error is an Error of this package, a *Complaint, ErrDone at the end of a stream that has one, or says how the answer is malformed.
type Answer interface {
	// Whole takes an answer that is not streamed.
	Whole(body []byte) (text string, err error)
	// Event takes an event of a stream. It must not keep data.
	Event(name string, data []byte) (text string, err error)
	// Complete tells whether the answer is whole even if the connection breaks now.
	Complete() bool
	// Rest ends the text and returns what was held back of it.
	Rest() string
	// Reply returns the answer. Text is the text as it was passed on, without keys.
	Reply(text string) (*Reply, error)
}

// Reply is an answer as its server meant it. Message is what goes back in the next request, nil if nothing does.
type Reply struct {
	Model, Reasoning string
	Finish           string // a record.Finish…
	Calls            []Call
	Usage            record.Usage
	Message          record.Raw
}

// Call is a tool call: its id at the server, and its arguments as the model wrote them.
type Call struct{ ID, Name, Arguments string }

// Model is one that a provider has. ContextLength, in tokens, is 0 where the provider does not say.
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

// Bounds of what a record may bear of an answer.
const (
	MaxReasoningBytes = 256 << 10
	MaxMessageBytes   = 1 << 20
	MaxIDBytes        = 200
)
