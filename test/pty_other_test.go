//go:build !linux

package test

import "github.com/rogpeppe/go-internal/testscript"

func pty(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("this script needs Linux's pseudo-terminals")
}
