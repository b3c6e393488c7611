//go:build linux && !amd64

package sandbox

var (
	groupsHere  []group
	checkedHere []checked
	changesHere []change
	forksHere   []uintptr
)
