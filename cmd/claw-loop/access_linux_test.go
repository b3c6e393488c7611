package main

import (
	"testing"

	"clawsh/test/inside"
)

func TestMain(m *testing.M) { inside.Main(m, access) }

// What starts the stages keeps what any of them needs, and nothing that looks into other processes or the kernel.
func TestInside(t *testing.T) {
	inside.CheckNot(t, "trace its parent", "load a kernel filter", "use the key ring")
}
