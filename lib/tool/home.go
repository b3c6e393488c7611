package tool

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// privateHome is the directory that a command sees as HOME and TMPDIR. It is made when it is first needed, since making a
// directory can take as long as starting a program, and removed with all that is in it when the command has ended.
type privateHome struct {
	dir  string
	once sync.Once
	ws   *workspace
	err  error
}

func newHomeName() (string, error) {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("find the directory for temporary files: %w", err)
	}
	return filepath.Join(temp, "clawsh-home-"+rand.Text()), nil
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

func (h *privateHome) remove() {
	h.once.Do(func() {})
	if h.ws == nil {
		return
	}
	if h.ws.root != nil {
		h.ws.close()
	}
	os.RemoveAll(h.dir)
}
