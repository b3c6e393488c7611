package receipt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"clawsh/lib/durable"
)

// head says how many receipts there are, the hash of the last (Genesis if there is none), and how many bytes they take
// with their newlines. An older version wrote no size.
type head struct {
	count int
	hash  string
	size  int64
}

// noSize is the size of a head that names none.
const noSize = -1

// sideDir is the directory beside a log: its head, and older parts of it.
func sideDir(log string) string { return log + ".d" }

func headPath(log string) string { return filepath.Join(sideDir(log), "head") }

func hasHead(log string) bool {
	_, err := os.Lstat(headPath(log))
	return err == nil
}

const maxHeadBytes = 4 << 10

// readHead returns the file of the head, nil if there is none.
func readHead(log string) ([]byte, error) {
	f, err := openPart(headPath(log))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the head: %w", err)
	}
	defer f.Close()
	buf := make([]byte, maxHeadBytes)
	n, err := f.Read(buf)
	if err != nil && n == 0 {
		return []byte{}, nil // an empty head is one that is wrong
	}
	return buf[:n], nil
}

// text is what is signed. Its first line is no log's origin, so that a head is never taken for a checkpoint.
func (h head) text(origin string) string {
	return fmt.Sprintf("%s/head\n%d\n%s\n%d\n", origin, h.count, h.hash, h.size)
}

// parseHead reads the text of a head.
func parseHead(text, origin string) (h head, err error) {
	lines, ended := strings.CutSuffix(text, "\n")
	f := strings.Split(lines, "\n")
	if !ended || len(f) < 3 || len(f) > 4 || f[0] != origin+"/head" {
		return h, errors.New("it is not the head of this log")
	}
	count, ok := natural(f[1])
	if h = (head{int(count), f[2], noSize}); !ok || !isHash([]byte(h.hash)) {
		return h, errors.New("invalid count or hash")
	}
	if len(f) == 4 {
		if h.size, ok = natural(f[3]); !ok {
			return h, errors.New("invalid size")
		}
	}
	return h, nil
}

// natural reads a number that is not negative, in its one spelling.
func natural(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// openHead checks the signature of a head, which must be by a key that is not retired.
func openHead(raw []byte, keys []PublicKey) (head, error) {
	known, err := verifiers(inUse(keys))
	if err != nil {
		return head{}, err
	}
	n, err := note.Open(raw, known)
	if err != nil {
		return head{}, errors.New("it is not signed with the current key of this log")
	}
	return parseHead(n.Text, n.Sigs[0].Name)
}

// inUse are the keys that are not retired.
func inUse(keys []PublicKey) (list []PublicKey) {
	for _, k := range keys {
		if k.RetiredAt == "" {
			list = append(list, k)
		}
	}
	return list
}

// signed is a head as it is written, or why it is not.
type signed struct {
	note []byte
	err  error
}

// signed signs a head.
func (h head) signed(k *Keys) signed {
	raw, err := note.Sign(&note.Note{Text: h.text(k.Origin)}, k.signer)
	if err != nil {
		err = fmt.Errorf("sign the head: %w", err)
	}
	return signed{raw, err}
}

// signing signs a head while the caller does something else.
func (h head) signing(k *Keys) chan signed {
	c := make(chan signed, 1)
	go func() { c <- h.signed(k) }()
	return c
}

// replaceHead signs and replaces the head as a whole, and syncs it. The log is locked.
func replaceHead(log string, k *Keys, h head) error {
	s := h.signed(k)
	if s.err != nil {
		return s.err
	}
	return durable.Replace(headPath(log), s.note, 0o600)
}
