package main

import (
	"testing"

	"clawsh/test/inside"
)

func TestMain(m *testing.M) { inside.Main(m, access) }

// claw-receipt keeps the receipts, and sees the audit log.
func TestInside(t *testing.T) {
	inside.Check(t, "read the configuration", "read the audit log", "read the receipts", "write the receipts")
}
