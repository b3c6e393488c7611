package test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	checkpoints "github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"clawsh/test/need"
)

const vectors = "../testdata/receipts"

// A verifier of receipts after docs/SCHEMAS.md alone: it shares no code with the programs, and has its Merkle trees and
// checkpoints from the libraries of transparency.dev.

// spelling is a receipt's line.
var spelling = regexp.MustCompile(`^\{"id":"receipt-[!-~]+","timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z","conversation_id":"[ !#-\[\]-z|~]*","tool":"[ !#-\[\]-z|~]*",` +
	`"args_hash":"[0-9a-f]{64}","result_hash":"[0-9a-f]{64}","status":"(allowed|denied|failed)","risk":"(low|medium|high)"` +
	`(,"attestation":"([0-9a-f]{16}|unattested|recovered)")?,"previous_hash":"[0-9a-f]{64}","receipt_hash":"[0-9a-f]{64}"(,"mac":"[0-9a-f]{64}")?\}$`)

// begun is the beginning of a line, which a process left that died: of every name and value as much as there is.
func begun(line []byte) bool {
	line = bytes.TrimRight(line, "\x00")
	if len(line) == 0 {
		return true
	}
	rest := string(line)
	for i, name := range []string{"id", "timestamp", "conversation_id", "tool", "args_hash", "result_hash", "status",
		"risk", "attestation", "previous_hash", "receipt_hash", "mac"} {
		lead := `,"` + name + `":"`
		if i == 0 {
			lead = `{"id":"`
		}
		if len(rest) <= len(lead) && strings.HasPrefix(lead, rest) {
			return true
		}
		if !strings.HasPrefix(rest, lead) {
			if name == "attestation" {
				continue
			}
			return false
		}
		value, more, ended := strings.Cut(rest[len(lead):], `"`)
		if strings.ContainsFunc(value, func(r rune) bool {
			return r < ' ' || r > '~' ||
				strings.ContainsRune(`\{}`, r)
		}) {
			return false
		}
		if !ended {
			return true
		}
		rest = more
	}
	return rest == ""
}

type outsider struct {
	origin   string
	inUse    note.Verifier
	all      []note.Verifier
	macs     [][]byte
	from     []int
	adopted  int
	lastMade string
}

// newOutsider reads the files of keys.
func newOutsider(t *testing.T) *outsider {
	t.Helper()
	o := &outsider{}
	public, err := os.ReadFile(vectors + "/keys/receipt.pub")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(public)) {
		key, retired, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := note.NewVerifier(key)
		if err != nil {
			t.Fatal(err)
		}
		o.all = append(o.all, v)
		if retired == "" {
			o.inUse, o.origin = v, v.Name()
		}
	}
	secret, err := os.ReadFile(vectors + "/keys/receipt.key")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(secret)) {
		f := strings.Fields(line)
		switch f[0] {
		case "adopted":
			o.adopted, _ = strconv.Atoi(f[1])
			o.lastMade = f[2]
		case "mac":
			key, err := base64.StdEncoding.DecodeString(f[1])
			if err != nil {
				t.Fatal(err)
			}
			from, _ := strconv.Atoi(f[2])
			o.macs, o.from = append(o.macs, key), append(o.from, from)
		}
	}
	return o
}

// lines reads a log with its parts: the complete lines, and what is behind the last newline.
func (o *outsider) lines(path string) (all [][]byte, tail []byte) {
	log, _ := os.ReadFile(path)
	var whole, last []byte
	for n := 1; ; n++ {
		part, err := os.ReadFile(fmt.Sprintf("%s.d/%06d.log", path, n))
		if err != nil {
			break
		}
		whole, last = append(whole, part...), part
	}
	if len(log) > 0 && (bytes.Equal(log, last) || bytes.Equal(append(bytes.Clone(log), '\n'), last)) {
		log = nil
	}
	all = bytes.Split(append(whole, log...), []byte("\n"))
	return all[:len(all)-1], all[len(all)-1]
}

// log replays a log: the level that it reaches, how many receipts there are, and the first bad one.
func (o *outsider) log(path string) (level string, count, firstBad int, err error) {
	lines, tail := o.lines(path)
	if len(tail) > 0 && (spelling.Match(tail) || !begun(tail)) {
		lines = append(lines, tail)
	}
	previous, size, headAt, macBad := strings.Repeat("0", 64), 0, "", 0
	h, headErr := o.head(path)
	if h.count == 0 {
		headAt = fmt.Sprint(previous, 0)
	}
	for i, line := range lines {
		hash, mac, err := link(line, previous)
		if err != nil {
			return "none", i + 1, i + 1, err
		}
		if macBad == 0 && !o.sealed(i+1, hash, mac) {
			macBad = i + 1
		}
		previous, size = hash, size+len(line)+1
		if i+1 == h.count {
			headAt = fmt.Sprint(hash, size)
		}
	}
	switch {
	case macBad > 0:
		return "chain", len(lines), macBad, errors.New("mac")
	case headErr != nil:
		return "mac", len(lines), 0, headErr
	case h.count > len(lines):
		return "mac", len(lines), len(lines) + 1, errors.New("it is missing")
	case headAt != fmt.Sprint(h.hash, h.size) && (h.size >= 0 || !strings.HasPrefix(headAt, h.hash)):
		return "mac", len(lines), 0, errors.New("the head")
	}
	return "head", len(lines), 0, nil
}

// link checks a line's own hash and its link, and returns hash and mac.
func link(line []byte, previous string) (hash, mac string, err error) {
	if !spelling.Match(line) {
		return "", "", errors.New("spelling")
	}
	var fields map[string]string
	if err := json.Unmarshal(line, &fields); err != nil {
		return "", "", err
	}
	hash, mac = fields["receipt_hash"], fields["mac"]
	delete(fields, "receipt_hash")
	delete(fields, "mac")
	var canonical bytes.Buffer
	e := json.NewEncoder(&canonical) // sorts names; all is ASCII
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	if hex.EncodeToString(sum[:]) != hash {
		return "", "", errors.New("hash")
	}
	if fields["previous_hash"] != previous {
		return "", "", errors.New("link")
	}
	return hash, mac, nil
}

// sealed tells whether a receipt has the mac that it must have.
func (o *outsider) sealed(number int, hash, mac string) bool {
	if mac == "" {
		return number < o.adopted || number == o.adopted && hash == o.lastMade
	}
	key := o.macs[0]
	for i, from := range o.from {
		if from <= number {
			key = o.macs[i]
		}
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte("clawsh receipt mac v1\n" + hash))
	return mac == hex.EncodeToString(m.Sum(nil))
}

type headOf struct {
	count int
	hash  string
	size  int
}

func (o *outsider) head(path string) (h headOf, err error) {
	h.count = -1
	raw, err := os.ReadFile(path + ".d/head")
	if err != nil {
		return h, err
	}
	n, err := note.Open(raw, note.VerifierList(o.inUse))
	if err != nil {
		return h, err
	}
	f := strings.Split(n.Text, "\n")
	if len(f) != 4 && len(f) != 5 || f[0] != o.origin+"/head" {
		return h, errors.New("it is no head")
	}
	if h.count, err = strconv.Atoi(f[1]); err != nil {
		return headOf{count: -1}, err
	}
	h.hash, h.size = f[2], -1
	if len(f) == 5 {
		h.size, err = strconv.Atoi(f[3])
	}
	return h, err
}

// notes takes checkpoints apart that stand one behind the other.
func (o *outsider) notes(raw string) (list []*checkpoints.Checkpoint, err error) {
	for raw = strings.ReplaceAll(raw, "\r\n", "\n"); strings.TrimSpace(raw) != ""; {
		end := strings.Index(raw, "\n\n— ")
		if end < 0 {
			return nil, errors.New("it is no note")
		}
		sig, rest, _ := strings.Cut(raw[end+2:], "\n")
		text := raw[:end+2] + sig + "\n"
		c, _, _, err := checkpoints.ParseCheckpoint([]byte(text), o.origin, o.all[0], o.all[1:]...)
		for _, v := range o.all[1:] { // one of them may have signed alone
			if err != nil {
				c, _, _, err = checkpoints.ParseCheckpoint([]byte(text), o.origin, v)
			}
		}
		if err != nil {
			return nil, err
		}
		list, raw = append(list, c), rest
	}
	return list, nil
}

// root is the root of the first n lines of the plain log.
func (o *outsider) root(path string, n uint64) ([]byte, error) {
	lines, _ := o.lines(path)
	if n > uint64(len(lines)) {
		return nil, errors.New("too few")
	}
	r := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for _, l := range lines[:n] {
		if err := r.Append(rfc6962.DefaultHasher.HashLeaf(l), nil); err != nil {
			return nil, err
		}
	}
	return r.GetRootHash(nil)
}

// check checks what is no log, and returns what it counts.
func (o *outsider) check(what, name string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(vectors, what, name))
	if err != nil {
		return 0, err
	}
	text := string(raw)
	if what == "checkpoint" {
		return o.extends(filepath.Join(vectors, "log", "plain"), text)
	}
	top, rest, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(top, "\n")
	list, err := o.notes(rest)
	if err != nil {
		return 0, err
	}
	skip := map[string]int{"proof": 3, "consistency": 1}[what]
	var hashes [][]byte
	for _, l := range lines[skip:] {
		h, err := base64.StdEncoding.DecodeString(l)
		if err != nil {
			return 0, err
		}
		hashes = append(hashes, h)
	}
	if what == "consistency" {
		if len(list) != 2 || lines[0] != "clawsh-receipt-consistency-v1" {
			return 0, errors.New("it is no consistency proof")
		}
		return int(list[0].Size), proof.VerifyConsistency(rfc6962.DefaultHasher, list[0].Size, list[1].Size, hashes,
			list[0].Hash, list[1].Hash)
	}
	receipt, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	index, indexErr := strconv.ParseUint(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err := errors.Join(err, indexErr); err != nil || len(list) != 1 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return 0, errors.Join(errors.New("it is no proof"), err)
	}
	return int(index) + 1, proof.VerifyInclusion(rfc6962.DefaultHasher, index, list[0].Size,
		rfc6962.DefaultHasher.HashLeaf(receipt), hashes, list[0].Hash)
}

// extends tells whether a log extends checkpoints, and how many receipts the last counts.
func (o *outsider) extends(log, text string) (int, error) {
	list, err := o.notes(text)
	n := 0
	for _, c := range list {
		root, rootErr := o.root(log, c.Size)
		if err = errors.Join(err, rootErr); err == nil && !bytes.Equal(root, c.Hash) {
			err = errors.New("another root")
		}
		n = max(n, int(c.Size))
	}
	return n, err
}

// TestVectorsByOthers: an implementation that shares no code with ours, and verify.sh, find what the vectors are to be
// found.
func TestVectorsByOthers(t *testing.T) {
	t.Parallel()
	need.Program(t, "bash", "jq", "openssl", "sha256sum")
	o := newOutsider(t)
	raw, err := os.ReadFile(vectors + "/verdicts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var want struct {
			Name, What, Level, Head, Why string
			Good                         bool
			Count                        int
			FirstBad                     int  `json:"first_bad"`
			Torn                         bool `json:"torn_tail"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(vectors, want.What, want.Name)
		if want.What == "log" {
			level, count, bad, err := o.log(path)
			if level != want.Level || count != want.Count || bad != want.FirstBad || (err == nil) != want.Good {
				t.Errorf("log %s (%s): %s, %d receipts, first bad %d, %v", want.Name, want.Why, level, count, bad, err)
			}
			continue
		}
		if n, err := o.check(want.What, want.Name); (err == nil) != want.Good || want.Good && n != want.Count {
			t.Errorf("%s %s (%s): %d, %v", want.What, want.Name, want.Why, n, err)
		}
		args := []string{want.What, vectors + "/keys/receipt.pub", path}
		if want.What == "checkpoint" {
			args = append(args, vectors+"/log/plain")
		}
		if want.Name == "two" || want.Name == "crlf" {
			continue // verify.sh takes one, as it is written
		}
		if out, err := (&home{env: os.Environ()}).independent(t, args...); (err == nil) != want.Good {
			t.Errorf("verify.sh of %s %s: %v: %s", want.What, want.Name, err, out)
		}
	}
}
