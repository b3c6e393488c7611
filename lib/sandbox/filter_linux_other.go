//go:build linux && !amd64

package sandbox

import "clawsh/lib/seccomp"

var (
	forbiddenHere []uintptr
	rulesHere     []seccomp.Rule
)
