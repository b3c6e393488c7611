package receipt

import (
	"errors"
	"os"
	"testing"
)

// TestHeadChangedWhileOpen: who appends keeps log, head and keys open or in mind, and notices before the next receipt
// what others did to them.
func TestHeadChangedWhileOpen(t *testing.T) {
	t.Parallel()
	garbage := []byte("garbage\n")
	for name, change := range map[string]struct {
		do      func(path string) error
		refused bool
	}{
		"head removed": {func(path string) error { return os.Remove(headPath(path)) }, true},
		"head overwritten": {func(path string) error { return os.WriteFile(headPath(path), garbage, 0o600) },
			true},
		"head emptied":              {func(path string) error { return os.Truncate(headPath(path), 0) }, true},
		"head replaced by another":  {func(path string) error { return swap(headPath(path), garbage) }, true},
		"head replaced by the same": {func(path string) error { return swap(headPath(path), nil) }, false},
		"head is a link": {func(path string) error {
			return errors.Join(os.Rename(headPath(path), headPath(path)+"x"), os.Symlink("headx", headPath(path)))
		}, true},
		"head is a directory": {func(path string) error {
			return errors.Join(os.Remove(headPath(path)), os.Mkdir(headPath(path), 0o700))
		}, true},
		"log cut":               {func(path string) error { return os.Truncate(path, 700) }, true},
		"log emptied":           {func(path string) error { return os.Truncate(path, 0) }, true},
		"log removed":           {os.Remove, true},
		"log replaced by other": {func(path string) error { return swap(path, garbage) }, true},
		"log replaced by same":  {func(path string) error { return swap(path, nil) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			path, o := home(t)
			l := openLog(t, path, o)
			mustAppend(t, l, 12) // a count of two digits: the head has been replaced, and overwritten
			if err := change.do(path); err != nil {
				t.Fatal(err)
			}
			_, err := l.Append(result(12))
			if (err != nil) != change.refused {
				t.Fatalf("append: %v", err)
			}
			if err == nil {
				if rep := verifyFile(t, path, Trust{Keys: keysOf(t, o)}); !rep.Valid || rep.Count != 13 ||
					rep.Head != Agrees {
					t.Errorf("%+v", rep)
				}
			}
		})
	}
}

// swap puts another file in the place of one, with the same bytes if none are given.
func swap(path string, data []byte) error {
	if data == nil {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data = old
	}
	return errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
}
