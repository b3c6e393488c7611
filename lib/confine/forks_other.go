//go:build linux && !amd64

package confine

// forks are the older calls that make a process; newer machines have none.
var forks []uintptr
