package memory

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBackup(t *testing.T) {
	path := filled(t)
	s, err := Open(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(copied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(copied); err != nil {
		t.Fatal(err)
	}
	if got := problems(t, copied, true); got != nil {
		t.Errorf("the copy: %q", got)
	}
}
