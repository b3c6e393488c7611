package main

import (
	"testing"

	"clawsh/test/inside"
)

func TestMain(m *testing.M) { inside.Main(m, new(keeper).access) }

// claw-mem keeps the memory.
func TestInside(t *testing.T) {
	inside.Check(t, "read the configuration", "read the memory", "write the memory", "write a session",
		"write a trace of events")
}
