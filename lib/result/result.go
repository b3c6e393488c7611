// Package result keeps complete long results of tools, so that a model that was shown a part can read the rest.
//
// A result is a file in a directory of its conversation. Both names are hashes: of the conversation's id, and of the
// call's. A reader names the conversation, so no conversation can read the results of another. The size of each file,
// of all files, and their age are bounded; deleting a conversation removes its directory.
package result

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// Prefix begins every path that names a result.
	Prefix = "result:"
	// LeastBytes is the smallest result that is kept: smaller ones are never shortened.
	LeastBytes = 1 << 10
	// MaxBytes is how much is kept of one result.
	MaxBytes = 4 << 20

	idDigits  = 10
	maxTotal  = 64 << 20
	maxFiles  = 2000
	maxAge    = 30 * 24 * time.Hour
	pruneEach = 8 << 20 // bytes written between two looks at how much is kept
)

// ID is the name of a call's result.
func ID(callID string) string { return digest("call", callID)[:idDigits] }

// Valid tells whether a text can be the name of a result.
func Valid(id string) bool {
	return len(id) == idDigits && strings.Trim(id, "0123456789abcdef") == ""
}

func digest(what, text string) string {
	sum := sha256.Sum256([]byte("clawsh result " + what + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// Store is the directory of kept results. It is safe for concurrent use, by processes too.
type Store struct {
	Dir string

	mu      sync.Mutex
	written int // since the last pruning
	pruned  bool
}

func place(conversationID string) string { return digest("conversation", conversationID)[:32] }

// Keep keeps the first MaxBytes of a call's result. Without a conversation it keeps nothing, since nobody could
// delete it.
func (s *Store) Keep(conversationID, callID, text string) error {
	if conversationID == "" || len(text) < LeastBytes {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	defer root.Close()
	s.prune(root)
	dir := place(conversationID)
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	name := filepath.Join(dir, ID(callID))
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep a result: %w", err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	text = text[:min(len(text), MaxBytes)]
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		root.Remove(name) // or a part would pass for the whole
		return fmt.Errorf("keep a result: %w", err)
	}
	s.mu.Lock()
	s.written += len(text)
	s.mu.Unlock()
	return nil
}

// Open opens a result of a conversation.
func (s *Store) Open(conversationID, id string) (*os.File, error) {
	gone := errors.New("there is no such result in this conversation, or it is no longer kept: call the tool again")
	if s == nil || conversationID == "" || !Valid(id) {
		return nil, gone
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, gone
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.Join(place(conversationID), id), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK,
		0)
	if err != nil {
		return nil, gone
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, gone
	}
	return f, nil
}

// Remove removes the results of conversations.
func (s *Store) Remove(conversationIDs ...string) error {
	var errs []error
	for _, id := range conversationIDs {
		errs = append(errs, os.RemoveAll(filepath.Join(s.Dir, place(id))))
	}
	return errors.Join(errs...)
}

// Clear removes all results.
func (s *Store) Clear() error {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(s.Dir, e.Name())))
	}
	return errors.Join(errs...)
}

// kept is a file that is kept.
type kept struct {
	name string
	size int64
	at   time.Time
}

// prune removes what is too old, and the oldest of what is too much. Another process may remove files at the same
// time.
func (s *Store) prune(root *os.Root) {
	s.mu.Lock()
	due := !s.pruned || s.written >= pruneEach
	if due {
		s.pruned, s.written = true, 0
	}
	s.mu.Unlock()
	if !due {
		return
	}
	var all []kept
	var total int64
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			all = append(all, kept{name, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	slices.SortFunc(all, func(a, b kept) int { return a.at.Compare(b.at) })
	for i, k := range all {
		if total <= maxTotal-pruneEach-MaxBytes && len(all)-i <= maxFiles && time.Since(k.at) < maxAge {
			return
		}
		if root.Remove(k.name) == nil {
			total -= k.size
			_ = root.Remove(filepath.Dir(k.name)) // if it was the last of its conversation
		}
	}
}
