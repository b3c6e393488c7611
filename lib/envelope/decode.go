package envelope

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reply is an envelope that another program printed.
type Reply struct {
	Data    jsontext.Value
	Details jsontext.Value // of a failure
	Failed  *Error         // nil after a success
}

// Decode reads an envelope strictly: it must have this version, and an error exactly if its exit code is not 0.
// Unknown fields are allowed.
func Decode(answer []byte) (Reply, error) {
	var env struct {
		SchemaVersion string         `json:"schema_version"`
		ExitCode      int            `json:"exit_code"`
		Data          jsontext.Value `json:"data"`
		Error         *struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Hint    string         `json:"hint"`
			Details jsontext.Value `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &env); err != nil {
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			return Reply{}, fmt.Errorf("not JSON from byte %d on", syntax.ByteOffset)
		}
		return Reply{}, errors.New("it is not an envelope")
	}
	major, _, _ := strings.Cut(SchemaVersion, ".")
	switch {
	case !strings.HasPrefix(env.SchemaVersion, major+"."):
		return Reply{}, fmt.Errorf("its schema_version is %.20q, want %s", env.SchemaVersion, SchemaVersion)
	case env.Error == nil && env.ExitCode != ExitOK:
		return Reply{}, fmt.Errorf("its exit_code is %d, and it has no error", env.ExitCode)
	case env.Error != nil && (env.ExitCode == ExitOK || env.Error.Code == ""):
		return Reply{}, errors.New("its error has no exit_code or no code")
	case env.Error == nil && len(env.Data) == 0:
		return Reply{}, errors.New("it has neither data nor an error")
	}
	r := Reply{Data: env.Data}
	if e := env.Error; e != nil {
		r.Details, r.Failed = e.Details, &Error{Code: e.Code, Message: e.Message, Hint: e.Hint, Exit: env.ExitCode}
	}
	return r, nil
}
