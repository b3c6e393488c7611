package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// page is where 256 receipts that stand one behind the other end in the log, parts and all, and between which ids all
// of theirs are.
type page struct {
	end      int64
	min, max string
}

// keyBytes is how much of an id behind its prefix is kept: all of a UUID.
const keyBytes = 36

// A line of the index of pages: the end of the page in bytes, the least and the greatest id, all of fixed width.
const (
	pageLineBytes = 16 + 1 + keyBytes + 1 + keyBytes + 1
	maxIndexBytes = 1 << 30
)

// idKey is what is kept of an id.
func idKey(id string) string {
	id = strings.TrimPrefix(id, idPrefix)
	return id[:min(len(id), keyBytes)]
}

// add takes down a receipt of the page.
func (p *page) add(id []byte) {
	key := idKey(string(id))
	if p.min == "" || key < p.min {
		p.min = key
	}
	p.max = max(p.max, key)
}

// mayHold tells whether an id that begins so may be in the page.
func (p *page) mayHold(id string) bool {
	key := idKey(id)
	return p.min <= key+"\x7f" && p.max >= key // ids are printable
}

func encodePages(pages []page) []byte {
	var b bytes.Buffer
	for _, p := range pages {
		fmt.Fprintf(&b, "%016d %-36s %-36s\n", p.end, p.min, p.max)
	}
	return b.Bytes()
}

// pagesHash is what the checkpoint of the tiles says of the index.
func pagesHash(index []byte) string {
	h := sha256.Sum256(index)
	return base64.StdEncoding.EncodeToString(h[:])
}

// parsePages reads an index whose hash has been found right.
func parsePages(index []byte) ([]page, error) {
	if len(index)%pageLineBytes != 0 {
		return nil, errTiles
	}
	pages := make([]page, 0, len(index)/pageLineBytes)
	for ; len(index) > 0; index = index[pageLineBytes:] {
		line := string(index[:pageLineBytes])
		end, err := strconv.ParseInt(line[:16], 10, 64)
		if err != nil {
			return nil, errTiles
		}
		pages = append(pages, page{end, strings.TrimRight(line[17:17+keyBytes], " "),
			strings.TrimRight(line[18+keyBytes:18+2*keyBytes], " ")})
	}
	return pages, nil
}
