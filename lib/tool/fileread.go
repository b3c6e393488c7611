package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"clawsh/lib/record"
)

// readTool reads a text file of the workspace, whole or in part.
type readTool struct{}

// Name implements Tool.
func (readTool) Name() string { return "file_read" }

// Description implements Tool.
func (readTool) Description() string {
	return "Read a UTF-8 text file of the workspace. Use offset and limit (bytes) for parts of big files."
}

// Parameters implements Tool.
func (readTool) Parameters() record.Raw {
	return record.Raw(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":0},` +
		`"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}`)
}

type readArgs struct {
	Path   string `json:"path"`
	Offset *int64 `json:"offset"`
	Limit  *int64 `json:"limit"`
}

// Invoke implements Tool.
func (readTool) Invoke(ctx context.Context, args record.Raw, env *Env) Result {
	var a readArgs
	if err := decode(args, &a); err != nil {
		return failf("%v", err)
	}
	if a.Offset != nil && *a.Offset < 0 || a.Limit != nil && *a.Limit < 1 {
		return failf("invalid arguments: want offset of 0 or more and limit of 1 or more")
	}
	w, err := openFiles(env)
	if err != nil {
		return failf("%v", err)
	}
	defer w.close()
	text, size, err := w.read(a, env.Config.Limits.MaxFileBytes, env.Config.Limits.MaxOutputBytes)
	if err != nil {
		return failed(err, "read %q: %v", a.Path)
	}
	r := Result{Success: true}
	r.setFound(text, env)
	r.Meta.TotalBytes = size
	return r
}

// read returns the text that was asked for, and the size of the file.
func (w *workspace) read(a readArgs, maxFile, maxOutput int) (string, int64, error) {
	rel, err := w.rel(a.Path)
	if err != nil {
		return "", 0, err
	}
	f, info, err := w.openRead(rel)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	size := info.Size()
	if a.Offset == nil && a.Limit == nil {
		text, err := readWhole(f, size, int64(maxFile))
		return text, size, err
	}
	from, n := int64(0), int64(max(maxOutput-128, 1))
	if a.Offset != nil {
		from = *a.Offset
	}
	if a.Limit != nil {
		n = min(*a.Limit, int64(maxFile))
	}
	text, err := readPart(io.NewSectionReader(f, from, n), from, size)
	return text, size, err
}

func readWhole(r io.Reader, size, most int64) (string, error) {
	if size > most {
		return "", fmt.Errorf("it has %d bytes, the limit is %d: read parts of it with offset and limit", size, most)
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return "", why(err)
	case int64(len(b)) > most:
		return "", fmt.Errorf("it has more than %d bytes: read parts of it with offset and limit", most)
	case !isText(b):
		return "", fmt.Errorf("it is binary, no UTF-8 text (%d bytes)", len(b))
	}
	return string(b), nil
}

// readPart reads whole characters only: one that the part begins in the middle of is left out, one that it ends in the
// middle of is left to the next part.
func readPart(r io.Reader, from, size int64) (string, error) {
	if from > size {
		return "", fmt.Errorf("offset %d is behind the end at %d", from, size)
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
			return "", errors.New("the limit is too small to hold the character there: want 4 or more")
		}
		b, end = b[:len(b)-cut], end-int64(cut)
	}
	if !isText(b) {
		return "", fmt.Errorf("it is binary, no UTF-8 text (%d bytes)", size)
	}
	if end >= size {
		return string(b), nil
	}
	return fmt.Sprintf("%s\n[bytes %d to %d of %d; go on with offset %d]", b, from, end-1, size, end), nil
}

func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }
