//go:build !cover

package command

// coverDir is empty but in the programs of make cover.
const coverDir = ""
