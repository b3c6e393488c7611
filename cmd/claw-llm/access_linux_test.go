package main

import (
	"testing"

	"clawsh/test/inside"
)

func TestMain(m *testing.M) { inside.Main(m, access) }

// claw-llm keeps the network, at the ports of its providers.
func TestInside(t *testing.T) {
	inside.Check(t, "read the configuration", "make an internet socket")
}
