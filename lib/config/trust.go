package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"clawsh/lib/envelope"
	"clawsh/lib/place"
)

// Trust lists the directories in which a person has said that the agent may work.
type Trust struct {
	Workspaces []Trusted `toml:"workspaces" json:"workspaces"`
}

// Trusted is one of them.
type Trusted struct {
	Path      string `toml:"path" json:"path"`             // without links
	Directory string `toml:"directory" json:"directory"`   // its device and inode
	TrustedAt string `toml:"trusted_at" json:"trusted_at"` // RFC 3339, UTC
}

// maxTrustBytes bounds the file: some ten thousand directories.
const maxTrustBytes = 1 << 20

// TrustPath is the file of trusted directories.
func TrustPath(home string) string { return filepath.Join(home, "workspaces.toml") }

// ReadTrust reads the trusted directories. A file that others could have written is an error: then none is trusted.
func ReadTrust(home string) (Trust, error) {
	var t Trust
	data, err := readOwn(TrustPath(home), maxTrustBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		d := toml.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if d.Decode(&t) != nil {
			err = errors.New("it is not a list of directories")
		}
	}
	if err != nil {
		return Trust{}, envelope.Errorf(envelope.ExitConfig, "workspace.trust",
			"read the trusted directories in %s: %w", TrustPath(home), reason(err)).
			WithHint("correct the file, or remove it; then no directory is trusted")
	}
	return t, nil
}

// readOwn reads a small file that nobody else can have written.
func readOwn(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("it is writable by others (mode %04o): chmod go-w", info.Mode().Perm())
	case owner(info) != os.Geteuid():
		return nil, fmt.Errorf("it belongs to user %d", owner(info))
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("longer than %d bytes", most)
	}
	return data, err
}

// Mark is what a directory is known by, given its device and inode: these, and when it was made, where the file system
// tells. The next directory under a name often gets the number of the one that was removed.
func Mark(path, id string) string {
	if at := born(path); at != "" {
		return id + ":" + at
	}
	return id
}

// is tells whether the directory of these numbers under the trusted one's name is the one that was trusted.
func (w Trusted) is(id string) bool { return w.Directory == id || w.Directory == Mark(w.Path, id) }

// of tells since when a directory is trusted, and whether another one was under its name.
func (t Trust) of(path, id string) (since string, replaced bool) {
	for _, w := range t.Workspaces {
		if w.Path != path {
			continue
		}
		if id != "" && w.is(id) {
			return w.TrustedAt, false
		}
		replaced = true
	}
	return "", replaced
}

// State says what is at the path now: ok, replaced, or missing.
func (w Trusted) State() string {
	info, err := os.Lstat(w.Path)
	switch {
	case err != nil:
		return "missing"
	case !w.is(place.Identity(info)):
		return "replaced"
	}
	return "ok"
}

// With returns the list with a directory added, replacing an entry of the same name.
func (t Trust) With(w Trusted) Trust {
	t, _ = t.Without(w.Path)
	t.Workspaces = append(t.Workspaces, w)
	return t
}

// Without returns the list without a directory, and whether it was there.
func (t Trust) Without(path string) (Trust, bool) {
	rest := slices.DeleteFunc(slices.Clone(t.Workspaces), func(w Trusted) bool { return w.Path == path })
	return Trust{rest}, len(rest) < len(t.Workspaces)
}

// Text is the file.
func (t Trust) Text() ([]byte, error) {
	b, err := toml.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write the trusted directories: %w", err)
	}
	return append([]byte("# Directories in which the agent may work (workspace = \"here\"). See: clawsh workspace list\n"), b...), nil
}

// Candidate is a directory that a person wants to trust: where it leads, and which it is. One that could not be a
// workspace is refused.
func (p Paths) Candidate(c *Config, dir string) (Trusted, error) {
	w := Workspace{Dir: dir, From: FromFlag}
	info, err := w.find()
	if err == nil {
		err = p.admit(c, &w, info)
	}
	if err != nil {
		return Trusted{}, err
	}
	return Trusted{Path: w.Real, Directory: Mark(w.Real, place.Identity(info))}, nil
}
