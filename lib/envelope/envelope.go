// Package envelope is the JSON answer that every command of every clawsh program prints with --output-format json:
// for success, failure and wrong usage alike, so that a script needs only one error handler.
//
// A success has data, a failure has error:
//
//	{"schema_version":"2.0","timestamp":"…","command":"memory search","exit_code":0,"output_format":"json","data":{…}}
//	{"schema_version":"2.0","timestamp":"…","command":"memory show","exit_code":1,"output_format":"json",
//	 "error":{"code":"not_found","message":"…","hint":"…"}}
//
// A command may fail and still have a result (a broken receipt chain, a list of configuration errors): then the
// result is in error.details. A turn that failed, or in which a call was denied, has its answer in data, like any
// other turn. The format is frozen; docs/SCHEMAS.md and docs/schemas/envelope.json specify it. The package also
// defines the exit codes.
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

// Envelope is the answer of one command.
type Envelope struct {
	SchemaVersion string   `json:"schema_version"`
	Timestamp     string   `json:"timestamp"`
	Command       string   `json:"command"`
	ExitCode      int      `json:"exit_code"`
	OutputFormat  string   `json:"output_format"`
	Data          any      `json:"data,omitzero"`
	Error         *Failure `json:"error,omitzero"`
}

// Answer is implemented by results that are data even beside a failure.
type Answer interface{ IsAnswer() bool }

// New makes the envelope of a command, such as "memory search", at the given time. data is the command's result; err,
// if any, is its failure, which decides the exit code and gets data as its details.
func New(command string, now time.Time, data any, err error) Envelope {
	env := Envelope{SchemaVersion: SchemaVersion, Timestamp: now.UTC().Format("2006-01-02T15:04:05.000Z"),
		Command:      command,
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

// Append appends the envelope to dst as one line of JSON without a newline. Invalid UTF-8 in messages, which may
// quote input, is replaced: a failure must always be reportable.
func (e Envelope) Append(dst []byte) ([]byte, error) {
	b, err := json.Marshal(e, json.Deterministic(true), allowInvalidUTF8)
	if err != nil {
		return dst, fmt.Errorf("encode the result of %q: %w", e.Command, err)
	}
	return append(dst, b...), nil
}
