package record

// Kind says what a record is.
type Kind string

// The kinds that clawsh's stages write and read. Records of any other kind pass through every stage unchanged.
const (
	KindUser       Kind = "user"
	KindRequest    Kind = "request"
	KindDelta      Kind = "delta"
	KindResponse   Kind = "response"
	KindToolCall   Kind = "tool_call"
	KindToolResult Kind = "tool_result"
	KindFinal      Kind = "final"
	KindError      Kind = "error"
	KindSummary    Kind = "summary"
	KindReserve    Kind = "reserve"

	// KindConversation appears only in exports of the memory.
	KindConversation Kind = "conversation"
)

// Trait is a set of properties of a kind.
type Trait uint8

// What the memory does with records of a kind: stores them as they pass by, finds them in searches, exports and
// imports them, and sends them to the model as messages of their turn. A summary is not Told: it is sent before the
// turns.
const (
	Stored Trait = 1 << iota
	Searched
	Exported
	Told
)

// kinds is the only list of kinds: select from it with KindsWith. What the memory does with those that it stores is
// in lib/memory/kinds.go.
var kinds = []struct {
	kind    Kind
	version int
	traits  Trait
}{
	{KindUser, Version, Stored | Searched | Exported | Told},
	{KindRequest, Version, 0},
	{KindDelta, Version, 0},
	{KindResponse, Version, Stored | Searched | Exported | Told},
	{KindToolCall, Version, 0},
	{KindToolResult, Version, Stored | Searched | Exported | Told},
	{KindFinal, Version, Stored | Searched | Exported | Told},
	{KindError, Version, 0},
	{KindSummary, Version, Stored | Searched | Exported},
	{KindReserve, Version, 0},
	{KindConversation, Version, Exported},
}

// KindsWith returns the kinds that have all of these traits; 0 selects all kinds.
func KindsWith(traits Trait) (list []Kind) {
	for _, k := range kinds {
		if k.traits&traits == traits {
			list = append(list, k.kind)
		}
	}
	return list
}

// Is reports whether a kind has all of these traits.
func (k Kind) Is(traits Trait) bool {
	for _, row := range kinds {
		if row.kind == k {
			return row.traits&traits == traits
		}
	}
	return false
}

// VersionOf returns the version in which records of a kind are written, or 0 for a kind that clawsh does not write.
func VersionOf(kind Kind) int {
	for _, k := range kinds {
		if k.kind == kind {
			return k.version
		}
	}
	return 0
}
