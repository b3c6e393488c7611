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

	// KindConversation is in exports of the memory alone.
	KindConversation Kind = "conversation"
)

// Trait is what may hold for the records of a kind.
type Trait uint8

// The memory stores records with these traits as they pass by, finds them in a search, exports and imports them, and tells the model
// of them as messages of their turn. A summary is not told there: it stands before the turns.
const (
	Stored Trait = 1 << iota
	Searched
	Exported
	Told
)

// kinds is the one list of kinds: whoever needs some of them asks for those with a trait (KindsWith). What the memory does with
// those that it stores is in lib/memory/kinds.go.
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

// KindsWith returns the kinds that have all of these traits, all kinds for 0.
func KindsWith(traits Trait) (list []Kind) {
	for _, k := range kinds {
		if k.traits&traits == traits {
			list = append(list, k.kind)
		}
	}
	return list
}

// Is tells whether a kind has all of these traits.
func (k Kind) Is(traits Trait) bool {
	for _, row := range kinds {
		if row.kind == k {
			return row.traits&traits == traits
		}
	}
	return false
}

// VersionOf returns the version in which records of a kind are written, 0 for a kind that nobody here writes.
func VersionOf(kind Kind) int {
	for _, k := range kinds {
		if k.kind == kind {
			return k.version
		}
	}
	return 0
}
