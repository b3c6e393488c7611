package main

import (
	"testing"

	"clawsh/test/inside"
)

func TestMain(m *testing.M) { inside.Main(m, access) }

// claw-gate keeps its key, the workspace, to read, and its log.
func TestInside(t *testing.T) {
	inside.Check(t, "read the configuration", "list the workspace", "read the workspace", "read the private key",
		"read the public key", "read the audit log", "write the audit log")
}
