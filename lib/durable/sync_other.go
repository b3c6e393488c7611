//go:build !linux

package durable

import "os"

// syncData makes the file durable; on macOS that is F_FULLFSYNC.
func syncData(f *os.File) error { return f.Sync() }
