// Package card describes each tool in one place: its name, its description for models, its arguments, its usual risk,
// its time limit, and what it needs.
//
// The policy judges a call by its tool's card, claw-exec decodes and bounds the call by the same card, the
// configuration takes the names from here, and models get the schema. A card contains no code: what a tool does is in
// package tool, which only claw-exec links.
package card

import "slices"

// Card is one tool.
type Card struct {
	// Name is the tool's name as models and policies use it.
	Name string
	// Sentence tells a model what the tool does, in a sentence or two. Every request contains it.
	Sentence string
	// Does says what a call does, for the reason of a verdict when no argument gives one.
	Does string
	// Risk is the risk of a call when only its tool is known.
	Risk string
	// Needs says what the tool reaches.
	Needs Needs
	// Timeout is the key of [limits] that bounds a call. TimeoutMost, if set, is the key of the maximum that a call
	// may ask for in timeout_s.
	Timeout, TimeoutMost string
	// Origin is where the tool comes from.
	Origin string
	// Args is a zero struct of a type that no other card has. Its tags describe the arguments:
	//
	//	json  its name
	//	role  what it is to the policy (Role)
	//	arg   required, or hidden: still taken, but not offered
	//	want  the values: words with | between them, or numbers as LOW..HIGH, where HIGH may be missing
	//	text  what a model is told, where the name does not say it; {KEY} is a limit. It replaces the numbers of want.
	Args any
}

// Builtin is the origin of the tools in this package's table.
const Builtin = "builtin"

// Needs is a set of things that a tool reaches.
type Needs uint8

// What a tool may need.
const (
	Files    Needs = 1 << iota // of the workspace
	Program                    // to start programs, in the sandbox
	Network                    // to read from servers
	Memory                     // what was said in other conversations
	Terminal                   // a person at it
)

// Process is one of the processes of claw-exec.
type Process int

// Processes of claw-exec.
const (
	Confined Process = iota // which checks permits, and has neither a network nor a way to start anything
	Brokered                // which starts programs, in the sandbox or our own
	Fetching                // which has the network, and nothing else
	Nowhere
)

// Runs returns the process in which a tool with these needs runs. Nothing else decides that.
func (n Needs) Runs() Process {
	switch {
	case n&(Network|Memory) == 0:
		return Confined
	case n == Memory:
		return Brokered
	case n == Network:
		return Fetching
	}
	return Nowhere // no process has both
}

// Starts reports whether the confined process must have something started for the tool.
func (n Needs) Starts() bool { return n.Runs() != Confined || n&Program != 0 }

// Role is the meaning of an argument to the policy.
type Role string

// Roles of arguments. An argument without one is not judged.
const (
	Read       Role = "read"   // the path of a file or a directory to read; the workspace's own if it is not given
	ReadResult Role = "result" // the same, or the result of an earlier call
	Write      Role = "write"  // the path of a file to write
	Address    Role = "address"
	Script     Role = "script"
	Connect    Role = "connect" // hosts that programs ask to reach
)

// All returns the cards of the built-in tools, in the order in which models get them.
func All() []Card { return slices.Clone(table) }

// Names returns the names of the built-in tools, in that order.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.Name
	}
	return names
}

// Find returns the card of the tool with this name.
func Find(name string) (Card, bool) {
	for _, c := range table {
		if c.Name == name {
			return c, true
		}
	}
	return Card{}, false
}
