// Package card describes each tool in one place: its name, what a model is told about it, its arguments, how risky it usually is,
// how long it may take, and what it needs.
//
// The policy judges a call by its card, the executor decodes and bounds it by the same one, the configuration has the names from
// here, and models the schema. A card holds no code: what a tool does is in package tool, which only the executor links.
package card

import "slices"

// Card is one tool.
type Card struct {
	// Name is the tool's name as models and policies use it.
	Name string
	// Sentence tells a model what the tool does, in a sentence or two. It is paid for in every request.
	Sentence string
	// Does is what a call does, for the reason of a verdict where no argument gives one.
	Does string
	// Risk is that of a call of which no more is known than its tool.
	Risk string
	// Needs says what the tool reaches.
	Needs Needs
	// Timeout is the key of [limits] that bounds a call, and TimeoutMost that of what a call may ask for in timeout_s, if it may.
	Timeout, TimeoutMost string
	// Origin is where the tool comes from.
	Origin string
	// Args is a struct without values, of a type that no other card has. Its tags say all that is known about an argument:
	//
	//	json  its name
	//	role  what it is to the policy (Role)
	//	arg   required, or hidden: still taken, but not offered
	//	want  the values: words with | between them, or numbers as LOW..HIGH, where HIGH may be missing
	//	text  what a model is told, where the name does not say it; {KEY} is a limit. It stands for the numbers of want.
	Args any
}

// Builtin is the origin of the tools in this package's table.
const Builtin = "builtin"

// Needs are what a tool reaches.
type Needs uint8

// What a tool may need.
const (
	Files    Needs = 1 << iota // of the workspace
	Program                    // to start programs, in the sandbox
	Network                    // to read from servers
	Memory                     // what was said in other conversations
	Terminal                   // a person at it
)

// Process is one of those that the executor consists of.
type Process int

// Processes of the executor.
const (
	Confined Process = iota // which checks permits, and has neither a network nor a way to start anything
	Brokered                // which has programs started, in the sandbox or of ours
	Fetching                // which has the network, and nothing else
	Nowhere
)

// Runs says in which process a tool runs that needs this. Nowhere else is that decided.
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

// Starts tells whether the confined process has to have something started for it.
func (n Needs) Starts() bool { return n.Runs() != Confined || n&Program != 0 }

// Role is what an argument is to the policy.
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

// All are the cards of the built-in tools, in the order in which they are offered to models.
func All() []Card { return slices.Clone(table) }

// Names are the names of the built-in tools, in that order.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.Name
	}
	return names
}

// Find returns the card of a name.
func Find(name string) (Card, bool) {
	for _, c := range table {
		if c.Name == name {
			return c, true
		}
	}
	return Card{}, false
}
