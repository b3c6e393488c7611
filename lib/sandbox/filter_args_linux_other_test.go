//go:build linux && !amd64

package sandbox

// olderForms: there are none.
func olderForms() []argClass { return nil }
