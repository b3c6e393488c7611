package receipt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"clawsh/lib/durable"
	"clawsh/lib/record"
)

// vectorLog is a log of eight receipts, the key replaced after four of them.
func vectorLog(t *testing.T, dir string) (lines [][]byte, k *Keys) {
	t.Helper()
	keys, log := filepath.Join(dir, "keys"), filepath.Join(t.TempDir(), "log")
	if _, err := CreateKeys(keys, log); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if i == 4 {
			if _, err := RotateKeys(keys, log); err != nil {
				t.Fatal(err)
			}
		}
		l, err := OpenLog(log, Options{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		res := record.ToolResult{ConversationID: "conv-1",
			Tool: []string{"time", "file_read", "näme \"x\"", "shell"}[i%4], Args: record.Raw(`{}`),
			Status: []string{"allowed", "denied", "failed"}[i%3], Success: i%3 == 0, Output: fmt.Sprint(i)}
		if _, err := l.AppendSealed(res, Attestation{By: []string{"", "00112233445566ff"}[i%2],
			Seal: fmt.Sprintf("seal-01a20000-0000-7000-8000-%012d", i)}); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	k, err = LoadKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	lines = bytes.SplitAfter(raw, []byte("\n"))
	return lines[:8], k
}

// vectorMaker writes vectors and their verdicts.
type vectorMaker struct {
	t        *testing.T
	dir      string
	k        *Keys
	lines    [][]byte
	verdicts []verdict
}

// log makes a log of a part of three lines and a rest.
func (m *vectorMaker) log(name, why string, head []byte, parts map[string][][]byte, rest [][]byte, tail string) {
	path := filepath.Join(m.dir, "log", name)
	m.write(path, append(bytes.Join(rest, nil), tail...))
	for part, lines := range parts {
		m.write(filepath.Join(path+".d", part), bytes.Join(lines, nil))
	}
	if head != nil {
		m.write(filepath.Join(path+".d", "head"), head)
	}
	m.verdicts = append(m.verdicts, verdict{Name: name, What: "log", Why: why})
}

func (m *vectorMaker) file(what, name, why string, raw []byte) {
	m.write(filepath.Join(m.dir, what, name), raw)
	m.verdicts = append(m.verdicts, verdict{Name: name, What: what, Why: why})
}

func (m *vectorMaker) write(path string, raw []byte) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// head is a head of the first n lines.
func (m *vectorMaker) head(n int) []byte {
	return m.headOf(m.k, n)
}

func (m *vectorMaker) headOf(k *Keys, n int) []byte {
	h := head{0, Genesis, 0}
	if n > 0 {
		r, err := Parse(bytes.TrimSuffix(m.lines[n-1], []byte("\n")))
		if err != nil {
			m.t.Fatal(err)
		}
		h = head{n, r.ReceiptHash, int64(len(bytes.Join(m.lines[:n], nil)))}
	}
	s := h.signed(k)
	if s.err != nil {
		m.t.Fatal(s.err)
	}
	return s.note
}

func newVectors(t *testing.T) {
	if err := os.RemoveAll(vectors); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(vectors, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &vectorMaker{t: t, dir: vectors}
	m.lines, m.k = vectorLog(t, vectors)
	if err := os.Chmod(filepath.Join(vectors, "keys", "receipt.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.goodLogs()
	m.badLogs()
	m.notes()
	var out bytes.Buffer
	for i, v := range m.verdicts {
		m.verdicts[i] = found(t, vectors, m.k, v)
		line, err := json.Marshal(m.verdicts[i])
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := durable.Replace(filepath.Join(vectors, "verdicts.jsonl"), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m *vectorMaker) goodLogs() {
	one := map[string][][]byte{"000001.log": m.lines[:3]}
	cut := string(m.lines[7][:300])
	m.log("plain", "eight receipts", m.head(8), nil, m.lines, "")
	m.log("empty", "no receipt yet", m.head(0), nil, nil, "")
	m.log("parts", "three of them in an older part", m.head(8), one, m.lines[3:], "")
	m.log("rotated", "all in older parts, the log is empty", m.head(8),
		map[string][][]byte{"000001.log": m.lines[:3], "000002.log": m.lines[3:]}, nil, "")
	m.log("rotating", "a process died between copying and cutting: the log is the last part", m.head(8),
		map[string][][]byte{"000001.log": m.lines[:3], "000002.log": m.lines[3:]}, m.lines[3:], "")
	m.log("torn", "the beginning of a ninth receipt, cut in a value", m.head(8), nil, m.lines, cut)
	m.log("torn-name", "cut in a name", m.head(8), nil, m.lines, `{"id":"receipt-1","timest`)
	m.log("torn-brace", "all but the closing brace", m.head(7), nil, m.lines[:7],
		string(m.lines[7][:len(m.lines[7])-2]))
	m.log("torn-zeros", "zeros, as a power cut leaves them", m.head(8), nil, m.lines, string(make([]byte, 100)))
	m.log("torn-cut-zeros", "the beginning of one, and zeros", m.head(8), nil, m.lines, cut+string(make([]byte, 100)))
	m.log("no-newline", "whole, but the last newline is missing: a receipt", m.head(8), nil, m.lines[:7],
		string(m.lines[7][:len(m.lines[7])-1]))
	m.log("behind", "the head is one behind, as a crash leaves it", m.head(7), nil, m.lines, "")
	r, err := Parse(bytes.TrimSuffix(m.lines[7], []byte("\n")))
	if err != nil {
		m.t.Fatal(err)
	}
	short, err := note.Sign(&note.Note{Text: m.k.Origin + "/head\n8\n" + r.ReceiptHash + "\n"}, m.k.signer)
	if err != nil {
		m.t.Fatal(err)
	}
	m.log("three-line-head", "a head without a size, as it was written before", short, nil, m.lines, "")
}

func (m *vectorMaker) badLogs() {
	all := m.head(8)
	change := func(n int, old, with string) [][]byte {
		out := slices.Clone(m.lines)
		if out[n] = bytes.Replace(out[n], []byte(old), []byte(with), 1); bytes.Equal(out[n], m.lines[n]) {
			m.t.Fatalf("%q is not in line %d", old, n)
		}
		return out
	}
	bad := func(name, why string, lines [][]byte) { m.log(name, why, all, nil, lines, "") }
	bad("edited", "a value was changed", change(2, `"status":"failed"`, `"status":"allowed"`))
	bad("blank", "the same values, a blank more", change(2, `,"status"`, `, "status"`))
	bad("escape", "the same values, another spelling", change(2, `"conv-1"`, `"conv\u002d1"`))
	bad("order", "the same values, two fields exchanged",
		change(2, `"status":"failed","risk":"high"`, `"risk":"high","status":"failed"`))
	bad("unknown-field", "one more field", change(2, `"status"`, `"x":"","status"`))
	bad("twice", "a name twice", change(2, `"status"`, `"id":"receipt-1","status"`))
	bad("upper-case", "a hash in upper case",
		[][]byte{m.lines[0], bytes.Replace(m.lines[1], m.lines[1][len(m.lines[1])-67:len(m.lines[1])-3],
			bytes.ToUpper(m.lines[1][len(m.lines[1])-67:len(m.lines[1])-3]), 1), m.lines[2]})
	bad("carriage-return", "lines that end with CR LF", func() (out [][]byte) {
		for _, l := range m.lines {
			out = append(out, append(bytes.TrimSuffix(bytes.Clone(l), []byte("\n")), "\r\n"...))
		}
		return out
	}())
	bad("removed", "the fourth is missing", slices.Delete(slices.Clone(m.lines), 3, 4))
	bad("doubled", "the last one twice", append(slices.Clone(m.lines), m.lines[7]))
	bad("moved", "two exchanged", slices.Concat(m.lines[:3], [][]byte{m.lines[4], m.lines[3]}, m.lines[5:]))
	bad("empty-line", "an empty line", slices.Insert(slices.Clone(m.lines), 4, []byte("\n")))
	bad("cut", "the last is missing", m.lines[:7])
	bad("begin-cut", "the first is missing", m.lines[1:])
	bad("all-cut", "no receipt, and a head that counts eight", nil)
	mac := func(n int) string { l := m.lines[n]; return string(l[len(l)-67 : len(l)-3]) }
	bad("no-mac", "a mac was removed", change(5, `,"mac":"`+mac(5)+`"`, ``))
	bad("other-mac", "a mac of another receipt", change(5, mac(5), mac(6)))
	bad("torn-middle", "an unfinished line that is not the last",
		slices.Insert(slices.Clone(m.lines), 4, []byte("{\"id\":\"rec\n")))
	m.log("junk", "bytes at the end that begin no receipt", all, nil, m.lines, "x")
	m.log("junk-name", "the beginning of another object", all, nil, m.lines, `{"ids":"receipt-1"`)
	m.log("zeros-newline", "zeros and a newline are a line", all, nil, m.lines, string(make([]byte, 10))+"\n")
	m.log("gap", "parts 1 and 3: after the first missing number there is none", all,
		map[string][][]byte{"000001.log": m.lines[:3], "000003.log": m.lines[3:5]}, m.lines[5:], "")
	m.log("part-doubled", "the log begins with its last part", all, map[string][][]byte{"000001.log": m.lines[:3]},
		m.lines, "")
	m.log("no-head", "no head: the end is not established", nil, nil, m.lines, "")
	m.log("empty-head", "an empty head", []byte{}, nil, m.lines, "")
	m.log("ahead", "the head counts one that is not there", all, nil, m.lines[:7], "")
	old := *m.k
	old.signer = m.retired()
	m.log("retired-head", "a head that is signed by a retired key", m.headOf(&old, 8), nil, m.lines, "")
	m.log("changed-head", "a head whose count was changed", bytes.Replace(all, []byte("\n8\n"), []byte("\n7\n"), 1),
		nil, m.lines, "")
	m.log("checkpoint-head", "a checkpoint in place of the head", m.signed(8, m.k), nil, m.lines, "")
}

// retired is the key that was replaced: made anew, and put into the file of public keys, since nobody keeps a retired
// one.
func (m *vectorMaker) retired() note.Signer {
	secret, public, err := note.GenerateKey(nil, m.k.Origin)
	if err != nil {
		m.t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		m.t.Fatal(err)
	}
	m.k.Public = append(m.k.Public, PublicKey{public, "2026-01-02T03:04:05.000Z"})
	if err := m.k.savePublic(filepath.Join(m.dir, "keys")); err != nil {
		m.t.Fatal(err)
	}
	return signer
}

// signed is a checkpoint of the first n lines.
func (m *vectorMaker) signed(n int, k *Keys) []byte {
	var tr tree
	for _, l := range m.lines[:n] {
		if err := tr.add(bytes.TrimSuffix(l, []byte("\n"))); err != nil {
			m.t.Fatal(err)
		}
	}
	root, err := tr.root()
	if err != nil {
		m.t.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", k.Origin, n, base64.StdEncoding.EncodeToString(root[:]))
	raw, err := note.Sign(&note.Note{Text: text}, k.signer)
	if err != nil {
		m.t.Fatal(err)
	}
	return raw
}

// notes makes checkpoints and proofs.
func (m *vectorMaker) notes() {
	other, _ := vectorKeysNew(m.t)
	five, eight := m.signed(5, m.k), m.signed(8, m.k)
	m.file("checkpoint", "five", "of the first five", five)
	m.file("checkpoint", "eight", "of all", eight)
	m.file("checkpoint", "two", "two, one behind the other", slices.Concat(five, eight))
	m.file("checkpoint", "crlf", "as a mail leaves it", bytes.ReplaceAll(five, []byte("\n"), []byte("\r\n")))
	m.file("checkpoint", "other-root", "changed after it was signed",
		bytes.Replace(five, []byte("\n5\n"), []byte("\n6\n"), 1))
	m.file("checkpoint", "other-key", "signed by somebody else", m.signed(5, other))
	m.file("checkpoint", "head", "a head is no checkpoint", m.head(8))
	src, err := Open(filepath.Join(m.dir, "log", "plain"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer src.Close()
	p, err := Prove(src, Trust{Keys: m.k, Public: m.k.Public, Against: eight}, 3)
	if err != nil {
		m.t.Fatal(err)
	}
	good := p.Encode()
	m.file("proof", "third", "the third of eight", good)
	m.file("proof", "other-place", "as if it were the fourth",
		bytes.Replace(good, []byte("\nindex 2\n"), []byte("\nindex 3\n"), 1))
	lines := bytes.SplitAfter(good, []byte("\n"))
	m.file("proof", "short", "a hash is missing", bytes.Join(slices.Delete(slices.Clone(lines), 3, 4), nil))
	m.file("proof", "long", "a hash too many", bytes.Join(slices.Insert(slices.Clone(lines), 3, lines[3]), nil))
	line := bytes.Replace(bytes.TrimSuffix(m.lines[2], []byte("\n")), []byte(`"failed"`), []byte(`"denied"`), 1)
	m.file("proof", "other-receipt", "a receipt that was changed",
		bytes.Replace(good, lines[1], []byte("extra "+base64.StdEncoding.EncodeToString(line)+"\n"), 1))
	m.file("proof", "other-checkpoint", "under a checkpoint of five", bytes.Replace(good, eight, five, 1))
	src2, _ := Open(filepath.Join(m.dir, "log", "plain"))
	defer src2.Close()
	c, err := ProveConsistency(src2, Trust{Keys: m.k, Public: m.k.Public, Against: slices.Concat(five, eight)})
	if err != nil {
		m.t.Fatal(err)
	}
	good = c.Encode()
	lines = bytes.SplitAfter(good, []byte("\n"))
	m.file("consistency", "five-eight", "eight begin with five", good)
	m.file("consistency", "same", "of a checkpoint and itself there are no hashes",
		slices.Concat([]byte(consistencyLabel+"\n\n"), five, five))
	m.file("consistency", "short", "a hash is missing", bytes.Join(slices.Delete(slices.Clone(lines), 1, 2), nil))
	m.file("consistency", "long", "a hash too many", bytes.Join(slices.Insert(slices.Clone(lines), 1, lines[1]), nil))
	m.file("consistency", "exchanged", "two hashes exchanged",
		bytes.Join(slices.Concat([][]byte{lines[0], lines[2], lines[1]}, lines[3:]), nil))
	m.file("consistency", "fork", "the older is of another history", bytes.Replace(good, five, m.signed(4, m.k), 1))
	m.file("consistency", "other-key", "the older is signed by somebody else",
		bytes.Replace(good, five, m.signed(5, other), 1))
	m.file("consistency", "one", "one checkpoint only", bytes.Replace(good, five, nil, 1))
}

// vectorKeysNew are keys of another log.
func vectorKeysNew(t *testing.T) (*Keys, string) {
	dir := t.TempDir()
	if _, err := CreateKeys(filepath.Join(dir, "keys"), filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	k, err := LoadKeys(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return k, dir
}
