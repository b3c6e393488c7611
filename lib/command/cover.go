//go:build cover

package command

import "os"

// coverDir is where make cover has programs write what they have run through: the linker sets it. It is not an
// environment variable because programs of ours give each other only the variables that they need.
var coverDir string

func init() { os.Setenv("GOCOVERDIR", coverDir) }
