package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"clawsh/lib/card"
	"clawsh/lib/config"
	"clawsh/lib/result"
	"clawsh/lib/spelling"
)

// readText reads a text file of the workspace, whole or in part.
func readText(ctx context.Context, a card.ReadArgs, env *Env) Result {
	if a.ByLines() && a.ByBytes() {
		return failf("invalid arguments: want from_line and lines, or offset and limit, not both")
	}
	if !a.ByBytes() && !a.ByLines() {
		here := *env
		here.Result, env = a.Path, &here // what does not fit is read from the file itself
	}
	text, size, withheld, err := readPath(ctx, a, env)
	if err != nil {
		return failed(err, "read %q: %v", a.Path)
	}
	r := Result{Success: true}
	r.setFound(text, env)
	r.Meta.TotalBytes = size
	r.Meta.Withheld += withheld
	return r
}

// readPath reads a file, or the result of an earlier call. It returns the text that was asked for, the size of the
// file, and how many secrets are withheld already.
func readPath(ctx context.Context, a card.ReadArgs, env *Env) (string, int64, int, error) {
	if id, ok := strings.CutPrefix(a.Path, result.Prefix); ok {
		f, err := env.Results.Open(env.ConversationID, id)
		if err != nil {
			return "", 0, 0, err
		}
		return readFile(ctx, f, a, env)
	}
	w, rel, err := openFor(env, a.Path)
	if err != nil {
		return "", 0, 0, err
	}
	defer w.close()
	f, _, err := w.openRead(ctx, rel)
	if err != nil {
		return "", 0, 0, err
	}
	return readFile(ctx, f, a, env)
}

// readFile reads an open file, and closes it.
func readFile(ctx context.Context, f *os.File, a card.ReadArgs, env *Env) (string, int64, int, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, 0, why(err)
	}
	size := info.Size()
	if a.ByLines() {
		clean := newCleanReader(f, env.Secrets)
		text, err := readLines(ctx, clean, a, size, env.Config.Limits.MaxOutputBytes)
		return text, size, min(clean.clean.Counts().Total(), strings.Count(text, noteHead)), err
	}
	text, err := readBytes(f, a, size, env.Config.Limits)
	return text, size, 0, err
}

// noteHead is how a note begins that stands for a secret.
const noteHead = "[withheld: "

// readBytes reads a file whole, or a part that was given in bytes.
func readBytes(f io.ReaderAt, a card.ReadArgs, size int64, limits config.Limits) (string, error) {
	maxFile := int64(limits.MaxFileBytes)
	if !a.ByBytes() {
		return readWhole(io.NewSectionReader(f, 0, maxFile+1), size, maxFile)
	}
	from, n := int64(0), int64(max(limits.MaxOutputBytes-128, 1))
	if a.Offset != nil {
		from = *a.Offset
	}
	if a.Limit != nil {
		n = min(*a.Limit, maxFile)
	}
	return readPart(io.NewSectionReader(f, from, n), from, size)
}

func readWhole(r io.Reader, size, most int64) (string, error) {
	if size > most {
		return "", fmt.Errorf("it has %d bytes, the limit is %d: read parts of it with from_line and lines", size, most)
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return "", why(err)
	case int64(len(b)) > most:
		return "", fmt.Errorf("it has more than %d bytes: read parts of it with from_line and lines", most)
	case !isText(b):
		return "", fmt.Errorf("it is binary, not UTF-8 text (%s)", spelling.Count(len(b), "byte"))
	}
	return string(b), nil
}

// readPart reads whole characters only: one that the part begins in the middle of is left out, one that it ends in the
// middle of is left to the next part.
func readPart(r io.Reader, from, size int64) (string, error) {
	if from > size {
		return "", fmt.Errorf("offset %d is past the end at %d", from, size)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return "", why(err)
	}
	end := from + int64(len(b))
	for skipped := 0; from > 0 && skipped < 3 && len(b) > 0 && !utf8.RuneStart(b[0]); skipped++ {
		b, from = b[1:], from+1
	}
	if end < size {
		cut := partialEnd(string(b[max(0, len(b)-4):]))
		if cut == len(b) && cut > 0 {
			return "", errors.New("the limit is smaller than the character there: want 4 or more")
		}
		b, end = b[:len(b)-cut], end-int64(cut)
	}
	if !isText(b) {
		return "", fmt.Errorf("it is binary, not UTF-8 text (%s)", spelling.Count(size, "byte"))
	}
	if end >= size {
		return string(b), nil
	}
	return fmt.Sprintf("%s\n[bytes %d to %d of %d; continue with offset %d]", b, from, end-1, size, end), nil
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }
