//go:build !cgo || race

package need

const cgo = false
