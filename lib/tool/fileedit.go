package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"clawsh/lib/card"
	"clawsh/lib/edit"
	"clawsh/lib/spelling"
)

// maxDiffBytes bounds the diff in the result of an edit.
const maxDiffBytes = 8 << 10

// editFile replaces exact texts in a text file, all or nothing. As with file_write every reader sees the old or the new
// file, whole. Mode, line endings, a byte-order mark and a missing last newline stay as they are.
func editFile(ctx context.Context, a card.EditArgs, env *Env) Result {
	w, err := openFiles(env)
	if err != nil {
		return failf("%v", err)
	}
	defer w.close()
	rel, err := w.rel(a.Path)
	text := ""
	if err == nil {
		text, err = w.edit(ctx, rel, a.Edits, env.Config.Limits.MaxFileBytes)
	}
	if err != nil {
		return failed(err, "edit %q: %v", a.Path)
	}
	r := Result{Success: true}
	r.setFound(text, env)
	return r
}

// errChanged: between reading the file and replacing it, another program has written to it.
var errChanged = errors.New("it changed during the edit, and nothing was written: read it again")

var errNoFile = errors.New("there is no such file; file_write creates one")

// edit changes a file and returns what to say about it.
func (w *workspace) edit(ctx context.Context, rel string, edits []edit.Edit, most int) (string, error) {
	info, err := w.writable(ctx, rel)
	if err == nil && info == nil {
		err = errNoFile
	}
	if errors.Is(err, ErrReadOnly) {
		err = cmp.Or(w.idle(ctx, rel, edits, most), err)
	}
	if err != nil {
		return "", err
	}
	old, err := w.content(ctx, rel, info, most)
	if err != nil {
		return "", err
	}
	text, places, err := edit.Apply(old, edits)
	if err != nil {
		return "", err
	}
	if len(text) > most {
		return "", fmt.Errorf("it would have %d bytes, the limit is %d", len(text), most)
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	err = w.replace(rel, []byte(text), info, func(from, to string) error {
		// What is left is the moment between this look and the rename.
		if now, err := w.content(ctx, rel, info, most); err != nil || now != old {
			return errChanged
		}
		return w.root.Rename(from, to)
	})
	if err != nil {
		return "", err
	}
	name := quoteName(w.name(rel))
	return fmt.Sprintf("edited %s: %d replaced\n%s", name, places,
		edit.Bounded(edit.Diff("a/"+name, "b/"+name, old, text), maxDiffBytes)), nil
}

// idle says why edits do not fit a file; nil if they do, or if the file cannot be read. A call that was permitted to
// read only may say that much.
func (w *workspace) idle(ctx context.Context, rel string, edits []edit.Edit, most int) error {
	f, info, err := w.openRead(ctx, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile
	}
	if err != nil {
		return nil
	}
	f.Close()
	old, err := w.content(ctx, rel, info, most)
	if err != nil {
		return nil
	}
	_, _, err = edit.Apply(old, edits)
	return err
}

// content reads the text file that info was told of.
func (w *workspace) content(ctx context.Context, rel string, info fs.FileInfo, most int) (string, error) {
	f, now, err := w.openRead(ctx, rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if !os.SameFile(info, now) {
		return "", errChanged
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return "", why(err)
	case len(b) > most:
		return "", fmt.Errorf("it has %d bytes, the limit is %d", now.Size(), most)
	case !isText(b):
		return "", fmt.Errorf("it is binary, not UTF-8 text (%s)", spelling.Count(len(b), "byte"))
	}
	return string(b), nil
}
