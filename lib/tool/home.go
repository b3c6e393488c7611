package tool

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"clawsh/lib/durable"
)

// privateHome is the directory that a command sees as HOME and TMPDIR. It is made when it is first needed, since making
// a directory can take as long as starting a program, and removed with all that is in it when the command has ended.
type privateHome struct {
	dir  string
	once sync.Once
	ws   *workspace
	err  error
}

// newHomeName names a home in a directory for them, or among the temporary files.
func newHomeName(dir string) (string, error) {
	if dir != "" {
		return filepath.Join(dir, rand.Text()), nil
	}
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("find the directory for temporary files: %w", err)
	}
	return filepath.Join(temp, "clawsh-alone-"+rand.Text()), nil
}

// open makes the directory if that was not done yet.
func (h *privateHome) open() (*workspace, error) {
	h.once.Do(func() {
		if h.err = os.Mkdir(h.dir, 0o700); h.err != nil {
			h.err = fmt.Errorf("make a private home directory: %w", h.err)
			return
		}
		root, err := os.OpenRoot(h.dir)
		h.ws, h.err = &workspace{dir: h.dir, real: h.dir, root: root}, err
	})
	return h.ws, h.err
}

// Scratch is a private home that the commands of a process use one after the other: each finds it empty. It spares most
// commands the making and removing of a directory. The zero Scratch is ready; Close removes what is there.
type Scratch struct {
	// Dir is where homes are made (MakeHomes); empty is among the temporary files.
	Dir  string
	home *privateHome
}

// take returns the home for the next command.
func (s *Scratch) take() (*privateHome, error) {
	if s != nil && s.home != nil {
		return s.home, nil
	}
	base := ""
	if s != nil {
		base = s.Dir
	}
	dir, err := newHomeName(base)
	if err != nil {
		return nil, err
	}
	h := &privateHome{dir: dir}
	if s != nil {
		s.home = h
	}
	return h, nil
}

// give takes a home back from a command: one that is not empty is removed, the next command gets a new one.
func (s *Scratch) give(h *privateHome) {
	if s == nil || s.home != h {
		h.remove()
		return
	}
	if left, err := os.ReadDir(h.dir); h.ws != nil && (err != nil || len(left) > 0) {
		h.remove()
		s.home = nil
	}
}

// Close removes the home.
func (s *Scratch) Close() {
	if s.home != nil {
		s.home.remove()
		s.home = nil
	}
}

func (h *privateHome) remove() {
	h.once.Do(func() {})
	if h.ws == nil {
		return
	}
	if h.ws.root != nil {
		durable.Remove(h.ws.root, ".")
		h.ws.close()
	}
	os.Remove(h.dir)
}
