//go:build cgo && !race

package need

// cgo tells that the test cannot give up rights on all its threads. The race detector needs cgo: with it, such tests
// are skipped.
const cgo = true
