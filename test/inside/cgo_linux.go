//go:build cgo

package inside

// withCgo tells whether this is a build that cannot hold all its threads.
const withCgo = true
