package envelope

import (
	"fmt"
	"runtime/debug"
)

// Panic is a bug: a panic that was recovered from, so that the program ends as on any other error.
type Panic struct {
	Value any
	Stack []byte
}

// Recovered is the Panic of what recover returned, in the goroutine and the deferred function where it did.
func Recovered(value any) *Panic { return &Panic{value, debug.Stack()} }

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("internal error: %v", p.Value) }
