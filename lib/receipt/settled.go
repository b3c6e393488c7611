package receipt

import (
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Settled tells whether Recover would find nothing to do: no call was allowed since all that were had their receipts,
// which an earlier look has signed. It needs no secret key and writes nothing. That it is false tells nothing.
func Settled(path, keys, audit string) bool {
	_, file := keyFiles(keys)
	public, err := LoadPublic(file)
	if err != nil || len(public) == 0 {
		return false
	}
	v, err := note.NewVerifier(public[0].Key)
	if err != nil {
		return false
	}
	noted := (&Log{path: path, keys: &Keys{Public: public, Origin: v.Name()}}).settled()
	f, err := openPart(audit)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 || info.Size() != noted.Audit {
		return false
	}
	mark, err := markOf(f, noted.Audit)
	return err == nil && mark == noted.Mark && ends(path, public, noted.Receipts)
}

// ends tells whether the log ends with the receipt that its head names, and has so many bytes at least, with its parts.
// What the keys of macs are needed for, it does not check.
func ends(path string, public []PublicKey, bytes int64) bool {
	src, err := Open(path)
	if err != nil || src.active == nil {
		return false
	}
	defer src.Close()
	size, err := src.Size()
	if err != nil || size < bytes {
		return false
	}
	h, err := openHead(src.head, public)
	if err != nil || h.size != size {
		return false
	}
	end := make([]byte, min(src.limit, maxLineBytes))
	if _, err := src.active.ReadAt(end, src.limit-int64(len(end))); err != nil {
		return false
	}
	text, whole := strings.CutSuffix(string(end), "\n")
	last, err := Parse([]byte(text[strings.LastIndexByte(text, '\n')+1:]))
	return whole && err == nil && last.ReceiptHash == h.hash
}

// Settle notes that every call that was decided so far has its receipt, if that is so: then Recover need not look for
// them.
func (l *Log) Settle(audit string) error {
	size, err := l.total()
	if err != nil {
		return err
	}
	left, from, err := l.unsettled(audit, size)
	if err != nil || left == nil || len(left) > 0 {
		return err
	}
	return l.remember(settled{Audit: from.Audit, Mark: from.Mark, Receipts: size})
}
