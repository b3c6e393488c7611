package receiptlog

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"clawsh/lib/receipt"
	"clawsh/lib/record"
)

func (l Log) ids(t *testing.T) (ids []string) {
	t.Helper()
	last, err := l.Last(context.Background(), receipt.Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range last.Receipts {
		ids = append(ids, r.ID)
	}
	return ids
}

// stored is the record of a result as the memory has it, with the id of its receipt.
func stored(t *testing.T, res record.ToolResult, id string) string {
	t.Helper()
	res.ReceiptID = id
	b, err := record.Encode(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// TestContent: of the records on standard input, the one with the receipt's id is compared, and nothing else is.
func TestContent(t *testing.T) {
	l := home(t, 3)
	id := l.ids(t)[1]
	mine := result(1)
	denied, other, args := mine, mine, mine
	denied.Success, other.Output, args.Args = false, "\x1b[2J", record.Raw(`{"n":2}`)
	for what, c := range map[string]struct {
		records           string
		args, result      bool
		code, says, shows string
	}{
		"the record": {
			stored(t, mine, id), true, true, "", "", "result (matches the receipt): succeeded"},
		"among others": {
			"no record\n{}\n" + stored(t, result(0), "receipt-0") + stored(t, mine, id), true, true, "", "", ""},
		"after a long line": {strings.Repeat("x", 8<<20) + "\n" + stored(t, mine, id), true, true, "", "", ""},
		"another output": {
			stored(t, other, id), true, false, "receipt.mismatch", "withheld", "result (does NOT match the receipt)"},
		"other arguments": {
			stored(t, args, id), false, true, "receipt.mismatch", "", "arguments (does NOT match the receipt)"},
		"another end":      {stored(t, denied, id), true, false, "receipt.mismatch", "", ": failed"},
		"no record":        {"", false, false, "not_found", "claw-mem export", ""},
		"another's record": {stored(t, mine, "receipt-0"), false, false, "not_found", "", ""},
		"another kind of line": {
			strings.Replace(stored(t, mine, id), "tool_result", "tool_call", 1), false, false, "not_found", "", ""},
	} {
		s, err := l.Show(id, strings.NewReader(c.records))
		fails(t, what, err, c.code, c.says)
		if (s == nil) != (c.code == "not_found") {
			t.Errorf("%s: %+v", what, s)
		}
		if s == nil {
			continue
		}
		var b bytes.Buffer
		if s.Content.ArgsMatch != c.args || s.Content.ResultMatch != c.result || s.WriteText(&b) != nil ||
			!strings.Contains(b.String(), c.shows) || strings.ContainsRune(b.String(), '\x1b') {
			t.Errorf("%s: %+v\n%s", what, s.Content, b.String())
		}
	}
}

// TestShow: what is not as written is not shown without saying so.
func TestShow(t *testing.T) {
	l := home(t, 3)
	ids := l.ids(t)
	for _, id := range ids {
		if s, err := l.Show(id, nil); err != nil || s.Receipt.ID != id || s.Content != nil {
			t.Errorf("%s: %+v, %v", id, s, err)
		}
	}
	if s, err := l.Show("receipt-none", nil); s != nil {
		t.Errorf("%+v, %v", s, err)
	} else {
		fails(t, "none", err, "not_found", "claw-receipt list")
	}
	l.spoil(t, 2)
	s, err := l.Show(ids[1], nil)
	fails(t, "changed", err, "receipts.broken", "receipt 2, "+ids[1]+", is not as written")
	if s == nil || s.Number != 2 {
		t.Errorf("%+v", s)
	}
}

// TestShowOlder: for a receipt that the key in use did not seal, the whole log speaks.
func TestShowOlder(t *testing.T) {
	l := home(t, 3)
	ids := l.ids(t)
	if _, err := l.RotateKeys(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Show(ids[0], nil); err != nil {
		t.Error(err)
	}
	l.spoil(t, 3)
	_, err := l.Show(ids[0], nil)
	fails(t, "an older receipt", err, "receipts.broken", "receipt 3")
}

// TestProofs: what is proven is checked with the public key alone, and another's key or checkpoint proves nothing.
func TestProofs(t *testing.T) {
	l, other := home(t, 3), home(t, 3)
	id, old, public := l.ids(t)[1], l.checkpoint(t, "old"), l.public(t)
	l.append(t, 2)
	now := l.checkpoint(t, "now")
	one, err := l.Prove(id, "")
	if err != nil || one.Number != 2 {
		t.Fatal(one, err)
	}
	both, err := l.Extending(old)
	if err != nil || both.Consistency == "" || both.Count != 5 {
		t.Fatal(both, err)
	}
	for what, c := range map[string]struct {
		proof, key, kept, code, says string
	}{
		"a receipt": {
			one.Proof, public, "", "", "proven: this is receipt 2 of the first 5 receipts"},
		"a receipt, by a checkpoint":       {one.Proof, public, now, "", "proven"},
		"a receipt, by another checkpoint": {one.Proof, public, old, "proof.wrong", ""},
		"another's key":                    {one.Proof, other.public(t), "", "proof.wrong", ""},
		"consistency": {
			both.Consistency, public, "", "", "begins with the 3 of the older checkpoint"},
		"consistency with the old": {both.Consistency, public, old, "", "proven"},
		"consistency with the new": {both.Consistency, public, now, "proof.wrong", ""},
		"nonsense":                 {"nonsense", public, "", "proof.wrong", ""},
		"no key":                   {one.Proof, "none", "", "usage", "--key"},
		"no checkpoint":            {one.Proof, public, old + ".none", "usage", "read the checkpoint"},
	} {
		r, err := CheckProof("-", strings.NewReader(c.proof), c.key, c.kept)
		if fails(t, what, err, c.code, ""); (r == nil) != (c.code != "") {
			t.Errorf("%s: %+v", what, r)
		}
		var b bytes.Buffer
		if r != nil && (r.WriteText(&b) != nil || !strings.Contains(b.String(), c.says)) {
			t.Errorf("%s: %s", what, b.String())
		}
	}
	_, err = l.Extending(other.checkpoint(t, "now"))
	fails(t, "another's checkpoint", err, "checkpoint.wrong", "prove consistency with ")
	_, err = l.Prove(id, other.checkpoint(t, "now"))
	fails(t, "by another's checkpoint", err, "checkpoint.wrong", "prove receipt "+id)
	_, err = CheckProof(old+".none", strings.NewReader(""), public, "")
	fails(t, "no proof", err, "usage", "read the proof")
}

// TestReadFile: a file that never ends is not read to its end.
func TestReadFile(t *testing.T) {
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	if b, err := ReadFile("-", io.Reader(zeros)); err == nil || len(b) > maxFileBytes+1 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
