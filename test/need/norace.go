//go:build !race

package need

// Race tells that the test runs with the race detector, whose own memory and time come on top.
const Race = false
