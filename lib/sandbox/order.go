package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// order is what the supervisor tells the process that becomes the program, over descriptor orderFD.
type order struct {
	Program
	Limits  Limits   `json:"limits"`
	View    []mount  `json:"view,omitzero"`
	Write   []string `json:"write"`            // what Landlock lets it write
	Read    []string `json:"read,omitzero"`    // what it lets it read, "/" where the view is all there is
	PidMax  int      `json:"pid_max,omitzero"` // of the process namespace, where it has a limit of its own
	Rotate  int      `json:"rotate,omitzero"`  // which processors: the first ones from here on
	MinABI  int      `json:"min_abi"`          // of Landlock
	Exact   bool     `json:"exact,omitzero"`   // no namespaces: Tasks is what the user has already, and the limit
	Own     bool     `json:"own,omitzero"`     // the program is our own, as an interpreter
	Scratch string   `json:"scratch,omitzero"` // a directory of the host that the new root is built on
}

// Descriptors of a process that sets up a sandbox.
const (
	orderFD  = 3
	statusFD = 4
)

// status is what that process tells the supervisor: one tag and a text.
//
//	E message   the sandbox could not be set up: nothing was run
//	F number    the program could not be started, by this error number
//	S           everything is set up: the program is started next. The others may follow.
//	X code      the program has ended
//
// S alone means that the process became the program (exec closes the descriptor), whose end is then its own. Nothing at
// all means that it was killed before.
type status struct {
	ready bool
	tag   byte
	text  string
}

const (
	statusSetup = 'E'
	statusExec  = 'F'
	statusReady = 'S'
	statusExit  = 'X'
)

func readStatus(r io.Reader) status {
	b, _ := io.ReadAll(io.LimitReader(r, 4096))
	b, ready := bytes.CutPrefix(b, []byte{statusReady})
	if len(b) == 0 {
		return status{ready: ready}
	}
	return status{ready, b[0], strings.ToValidUTF8(string(b[1:]), "?")}
}

// number is the number of an exit or an error.
func (s status) number() int {
	n, err := strconv.Atoi(s.text)
	if err != nil {
		return 1
	}
	return n
}

func (o order) encode() ([]byte, error) {
	b, err := record.Encode(o)
	if err != nil {
		return nil, fmt.Errorf("describe the sandbox: %w", err)
	}
	return b, nil
}

// writable are the places that a view lets a program write.
func writable(m []mount) []string {
	var out []string
	for _, v := range m {
		if v.Kind == mountWrite || v.Kind == mountTmp || v.Kind == mountDev {
			out = append(out, v.Target)
		}
	}
	return slices.Clip(out)
}
