package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// windowBytes is how much of a value the filter looks at, and so the length of the shortest value.
	windowBytes   = 4
	maxValueBytes = 4096
	// minEncodedBytes is the length from which encoded forms are looked for: those of shorter values are ordinary text.
	minEncodedBytes = 8
	maxEntries      = 1024
	saltBytes       = 16
	digestBytes     = 16
	// Variable is the environment variable in which a process tells its children what to recognise (Export).
	Variable      = "CLAWSH_WITHHELD"
	exportVersion = "1"
)

// entry recognises one form of one value.
type entry struct {
	kind   string
	size   int
	filter uint16
	digest [digestBytes]byte
	base64 bool // its last character, and padding, may hold some bits of the value
}

// table is what is known. It is not changed once it is indexed.
type table struct {
	salt    [saltBytes]byte
	factor  uint32
	entries []entry
	bits    [1 << 10]uint64
	by      map[uint16][]entry // longest first
}

func (t *table) salted() *table {
	t.factor = binary.LittleEndian.Uint32(t.salt[:]) | 1
	return t
}

func (t *table) clone() *table {
	return (&table{salt: t.salt, entries: slices.Clone(t.entries)}).salted()
}

func (t *table) indexed() *table {
	t.by = map[uint16][]entry{}
	for _, e := range t.entries {
		t.bits[e.filter>>6] |= 1 << (e.filter & 63)
		t.by[e.filter] = append(t.by[e.filter], e)
	}
	for f := range maps.Keys(t.by) {
		slices.SortStableFunc(t.by[f], func(a, b entry) int { return b.size - a.size })
	}
	return t
}

// hash is the filter's place of the four bytes that a text starts with. It keeps 16 bits of them, too few to guess them
// from.
func (t *table) hash(window uint32) uint16 {
	h := window * t.factor
	h ^= h >> 15
	return uint16((h * 0x9e3779b1) >> 16)
}

func (t *table) digest(form []byte) (d [digestBytes]byte) {
	h := sha256.New()
	h.Write(t.salt[:])
	h.Write(form)
	copy(d[:], h.Sum(nil))
	return d
}

// at finds the longest known value that text starts with. more tells that it depends on what follows the text.
func (t *table) at(text []byte, window uint32, final bool) (found *entry, more bool) {
	h := t.hash(window)
	if t.bits[h>>6]&(1<<(h&63)) == 0 {
		return nil, false
	}
	size, digest := -1, [digestBytes]byte{}
	for i, e := range t.by[h] {
		if e.size > len(text) {
			if !final {
				return nil, true
			}
			continue
		}
		if e.size != size {
			size, digest = e.size, t.digest(text[:e.size])
		}
		if e.digest == digest {
			return &t.by[h][i], false
		}
	}
	return nil, false
}

func (t *table) learn(name, value string) {
	// one that knows nothing, as most at a start, needs no salt
	if len(t.entries) == 0 && t.salt == ([saltBytes]byte{}) {
		rand.Read(t.salt[:])
		t.salted()
	}
	kind := "value of " + plainName(name)
	for _, f := range forms(value) {
		e := entry{kind: kind, size: len(f.text), filter: t.hash(binary.LittleEndian.Uint32([]byte(f.text))),
			digest: t.digest([]byte(f.text)),
			base64: f.base64}
		t.add(e)
	}
}

func (t *table) add(e entry) {
	same := func(o entry) bool { return o.size == e.size && o.digest == e.digest }
	if len(t.entries) < maxEntries && !slices.ContainsFunc(t.entries, same) {
		t.entries = append(t.entries, e)
	}
}

type form struct {
	text   string
	base64 bool
}

// forms are the ways to write a value that are looked for: as it is, in JSON, in a URL, and in base64 at any place.
func forms(value string) []form {
	list := []form{{value, false}}
	if len(value) < minEncodedBytes {
		return list
	}
	add := func(text string, b64 bool) {
		if len(text) >= minEncodedBytes && !slices.ContainsFunc(list, func(f form) bool { return f.text == text }) {
			list = append(list, form{text, b64})
		}
	}
	quoted := strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(value)
	add(quoted, false)
	add(strings.ReplaceAll(quoted, "/", `\/`), false)
	add(strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(quoted), false)
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		add(escaped, false)
		add(lowerHex(escaped), false)
	}
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		// only characters that hold nothing but bits of the value, so that it does not matter what stands around it
		from, to := (8*before+5)/6, 8*len(padded)/6
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			add(coding.EncodeToString(padded)[from:to], true)
		}
	}
	return list
}

func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// Export returns what the Redactor knows as NAME=VALUE for the environment of a child, or "". It contains salted
// hashes and no value; still it is only for children, never for a file.
func (r *Redactor) Export() string {
	if r == nil {
		return ""
	}
	t := r.known.Load()
	if len(t.entries) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s,%x", Variable, exportVersion, t.salt)
	for _, e := range t.entries {
		flag := ""
		if e.base64 {
			flag = "b"
		}
		fmt.Fprintf(&b, ",%s:%d:%04x:%x:%s", strings.TrimPrefix(e.kind, "value of "), e.size, e.filter, e.digest, flag)
	}
	return b.String()
}

// Environ returns environ with Export added or replaced.
func (r *Redactor) Environ(environ []string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(e string) bool { return strings.HasPrefix(e, Variable+"=") })
	if e := r.Export(); e != "" {
		out = append(out, e)
	}
	return out
}

// inherited is what a parent exported; what cannot be read is passed over.
func inherited(environ []string) *table {
	t := &table{}
	for _, e := range environ {
		value, ok := strings.CutPrefix(e, Variable+"=")
		if !ok {
			continue
		}
		fields := strings.Split(value, ",")
		if len(fields) < 2 || fields[0] != exportVersion {
			continue
		}
		salt, err := hex.DecodeString(fields[1])
		if err != nil || len(salt) != saltBytes {
			continue
		}
		t = (&table{salt: [saltBytes]byte(salt)}).salted()
		for _, f := range fields[2:] {
			if e, ok := parseEntry(f); ok {
				t.add(e)
			}
		}
	}
	return t
}

func parseEntry(text string) (entry, bool) {
	p := strings.Split(text, ":")
	if len(p) != 5 {
		return entry{}, false
	}
	size, err := strconv.Atoi(p[1])
	filter, err2 := strconv.ParseUint(p[2], 16, 16)
	digest, err3 := hex.DecodeString(p[3])
	if err != nil || err2 != nil || err3 != nil || size < windowBytes || size > 6*maxValueBytes ||
		len(digest) != digestBytes {
		return entry{}, false
	}
	return entry{"value of " + plainName(p[0]), size, uint16(filter), [digestBytes]byte(digest), p[4] == "b"}, true
}
