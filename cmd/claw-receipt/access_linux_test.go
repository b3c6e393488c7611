package main

import (
	"testing"

	"clawsh/test/inside"
)

func TestMain(m *testing.M) { inside.Main(m, access) }

// claw-receipt keeps the receipts with what lies beside them, and sees their keys and the audit log.
func TestInside(t *testing.T) {
	inside.Check(t, "read the configuration", "read the audit log", "read the receipts", "write the receipts",
		"read the keys of receipts", "read who may seal",
		"replace the head of receipts", "write what is under way")
}
