//go:build cgo && !race

package command

// With cgo, the programs depend on the libraries of one machine, and the tests prove nothing about them. The race
// detector alone needs cgo.

// #error "clawsh is built without cgo. Run: CGO_ENABLED=0 go install ./cmd/... (or: make install)"
import "C"
