package receipt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/note"

	"clawsh/lib/durable"
)

// head says how many receipts there are, and the hash of the last: Genesis if there is none.
type head struct {
	count int
	hash  string
}

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
	f, err := os.OpenFile(headPath(log), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
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
	return fmt.Sprintf("%s/head\n%d\n%s\n", origin, h.count, h.hash)
}

// parseHead reads the text of a head.
func parseHead(text, origin string) (h head, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[0] != origin+"/head" || lines[3] != "" {
		return h, errors.New("it is not the head of this log")
	}
	h.hash = lines[2]
	if h.count, err = strconv.Atoi(lines[1]); err != nil || h.count < 0 || strconv.Itoa(h.count) != lines[1] || !isHash([]byte(h.hash)) {
		return h, errors.New("its count or hash makes no sense")
	}
	return h, nil
}

// openHead checks the signature of a head.
func openHead(raw []byte, keys []PublicKey) (head, error) {
	known, err := verifiers(keys)
	if err != nil {
		return head{}, err
	}
	n, err := note.Open(raw, known)
	if err != nil {
		return head{}, errors.New("its signature is not by a key of this log")
	}
	return parseHead(n.Text, n.Sigs[0].Name)
}

// writeHead replaces the head. It is atomic; it is synced only if asked for, since a head that a power cut takes back is
// behind, and no more. The log is locked.
func writeHead(log string, k *Keys, h head, sync bool) error {
	raw, err := note.Sign(&note.Note{Text: h.text(k.Origin)}, k.signer)
	if err != nil {
		return fmt.Errorf("sign the head: %w", err)
	}
	if sync {
		return durable.Replace(headPath(log), raw, 0o600)
	}
	temp := headPath(log) + ".tmp"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("replace the head: %w", err)
	}
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, headPath(log))
	}
	if err != nil {
		return fmt.Errorf("replace the head: %w", err)
	}
	return nil
}
