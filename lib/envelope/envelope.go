// Package envelope is the one JSON answer that every command of every clawsh program gives with --output-format json:
// for success, for failure and for wrong usage alike, so that a script needs a single error handler.
//
// A success carries data, a failure carries error:
//
//	{"schema_version":"2.0","timestamp":"…","command":"memory search","exit_code":0,"output_format":"json","data":{…}}
//	{"schema_version":"2.0","timestamp":"…","command":"memory show","exit_code":1,"output_format":"json",
//	 "error":{"code":"not_found","message":"…","hint":"…"}}
//
// A command may fail and still have something to say (a broken receipt chain, a list of configuration errors): then both
// exit_code and error are set and the details are in error.details. A turn that failed, or was answered although a call was denied, has its
// answer in data as well, where that of a turn without failure is. The format is frozen: docs/SCHEMAS.md and
// docs/schemas/envelope.json say it in full. The package also holds the exit codes.
package envelope

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// SchemaVersion is the version of the envelope. It changes when a field is removed or changes its meaning, not when one
// is added.
const SchemaVersion = "2.0"

// Failure is the error member of an envelope.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
	Details any    `json:"details,omitzero"`
}

// Envelope is one answer of one command.
type Envelope struct {
	SchemaVersion string   `json:"schema_version"`
	Timestamp     string   `json:"timestamp"`
	Command       string   `json:"command"`
	ExitCode      int      `json:"exit_code"`
	OutputFormat  string   `json:"output_format"`
	Data          any      `json:"data,omitzero"`
	Error         *Failure `json:"error,omitzero"`
}

// Answer is implemented by results that are data beside a failure, too.
type Answer interface{ IsAnswer() bool }

// New makes the envelope of a command, such as "memory search", at the given time. data is the command's result; err,
// if any, its failure, which then decides the exit code and keeps data as its details.
func New(command string, now time.Time, data any, err error) Envelope {
	env := Envelope{SchemaVersion: SchemaVersion, Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z"), Command: command,
		OutputFormat: "json"}
	e := From(err)
	if e == nil {
		env.Data = data
		if data == nil {
			env.Data = struct{}{}
		}
		return env
	}
	if answer, ok := data.(Answer); ok && answer.IsAnswer() {
		env.Data = data
	}
	env.ExitCode = e.ExitCode()
	env.Error = &Failure{Code: e.Code, Message: e.Message, Hint: e.Hint, Details: data}
	return env
}

// Append appends the envelope to dst as one line of JSON without a newline. Invalid UTF-8 in messages, which may quote
// somebody's input, is replaced rather than refused: a failure must always be reportable.
func (e Envelope) Append(dst []byte) ([]byte, error) {
	b, err := json.Marshal(e, json.Deterministic(true), allowInvalidUTF8)
	if err != nil {
		return dst, fmt.Errorf("encode the result of %q: %w", e.Command, err)
	}
	return append(dst, b...), nil
}
