package test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestNoBinaries holds the tree to texts: nobody can review a program that lies in it. Programs are built into bin.
func TestNoBinaries(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// logs that a crash has torn may contain what no text does
		if d.IsDir() && slices.Contains([]string{"../.git", "../bin", "../dist", "../testdata/receipts/log"}, path) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || slices.Contains([]string{".test", ".prof"}, filepath.Ext(path)) {
			return nil // which .gitignore names
		}
		seen++
		if binary, err := isBinary(path); binary || err != nil {
			t.Errorf("%s is not a text: %v", path, err)
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Errorf("looked at %d files: %v", seen, err)
	}
}

// isBinary tells whether a file begins with what no text contains.
func isBinary(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 8<<10))
	return bytes.IndexByte(head, 0) >= 0, err
}
