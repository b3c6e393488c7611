package tool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/card"
	"clawsh/lib/edit"
)

func editCall(path, old, new string) card.EditArgs {
	return card.EditArgs{Path: path, Edits: []edit.Edit{{Old: old, New: &new}}}
}

func TestFileEdit(t *testing.T) {
	env := testEnv(t)
	path := put(t, env, "src/a.txt", "one\r\ntwo\r\nthree")
	must(t, os.Chmod(path, 0o751))
	r := call(t, env, "file_edit", editCall("src/a.txt", "one\ntwo\n", "1\n2\n"))
	want := "edited src/a.txt: 1 replaced\n--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n-one\r\n-two\r\n+1\r\n+2\r\n three\n\\ No newline at end of file\n"
	if !r.Success || r.Output != want {
		t.Errorf("%+v\nwant %q", r, want)
	}
	b, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || string(b) != "1\r\n2\r\nthree" || info.Mode().Perm() != 0o751 {
		t.Errorf("%q %v %v", b, info.Mode(), err)
	}
	put(t, env, "many", strings.Repeat("old line\n", 5000))
	r = call(t, env, "file_edit", `{"path":"many","edits":[{"old":"old","new":"new","all":true}]}`)
	if !r.Success || !strings.Contains(r.Output, "5000 replaced") || len(r.Output) > maxDiffBytes+200 {
		t.Errorf("%d bytes of %.100q, %s", len(r.Output), r.Output, r.Error)
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/.clawsh-*"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestFileEditRefuses(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	ws := env.Config.WorkspaceDir
	put(t, env, "bin", "inside\x00b")
	put(t, env, "latin1", "inside caf\xe9")
	put(t, env, "big", "inside"+strings.Repeat("x", 1<<16))
	put(t, env, "grows", "inside"+strings.Repeat("x", 1<<16-10))
	put(t, env, "forbidden/x", "inside")
	must(t, os.Chmod(put(t, env, "readonly", "inside"), 0o444))
	env.Config.Security.ForbiddenPaths = []string{filepath.Join(ws, "forbidden")}
	for path, want := range map[string]string{
		"": "empty", outside: "outside", "../outside.txt": "outside", "out": "outside", "up/outside.txt": "outside",
		"rootlink/etc/passwd": "outside",
		"~/x":                 "outside", "d/rel": "symbolic link", "hard": "hard links", ".git/config": ".git",
		"innocent/config": ".git", "forbidden/x": "forbidden",
		"absent": "file_write creates one", "d": "directory", "fifo": "named pipe", "sock": "socket", "bin": "binary",
		"latin1": "binary",
		"big":    "the limit is", "grows": "would have", "readonly": "read-only",
	} {
		r := call(t, env, "file_edit", editCall(path, "inside", "changed text"))
		if r.Success || r.Output != "" || !strings.Contains(r.Error, want) {
			t.Errorf("%q: %+v, want %q", path, r, want)
		}
		if denied := want == "outside" || want == "forbidden" || want == ".git"; r.Denied != denied {
			t.Errorf("%q: denied %v", path, r.Denied)
		}
	}
	for _, args := range []string{`{}`, `{"path":"d/in.txt"}`, `{"path":"d/in.txt","edits":[]}`,
		`{"path":"d/in.txt","edits":[{"old":"inside"}]}`,
		`{"path":"d/in.txt","edits":[{"old":"","new":"x"}]}`,
		`{"path":"d/in.txt","edits":[{"old":"inside","new":"x","count":2}]}`,
		`{"path":"d/in.txt","edits":[{"old":"inside","new":"x"},{"old":"absent","new":"y"}]}`,
		`{"path":"d/in.txt","edits":{"old":"inside","new":"x"}}`} {
		if r := call(t, env, "file_edit", args); r.Success || r.Error == "" {
			t.Errorf("%s: %+v", args, r)
		}
	}
	if b, _ := os.ReadFile(ws + "/d/in.txt"); string(b) != "inside" {
		t.Errorf("a refused edit wrote %q", b)
	}
	if b, _ := os.ReadFile(outside); string(b) != "secret" {
		t.Errorf("outside: %q", b)
	}
}

// TestFileEditSeesAnotherWriter: a file that changes between reading and replacing is left alone.
func TestFileEditSeesAnotherWriter(t *testing.T) {
	env := testEnv(t)
	path := put(t, env, "f", "mine\n")
	for name, change := range map[string]func(){
		"in place": func() { must(t, os.WriteFile(path, []byte("theirs, and mine\n"), 0o644)) },
		"replaced": func() {
			must(t, os.WriteFile(path+".new", []byte("theirs, and mine\n"), 0o644))
			must(t, os.Rename(path+".new", path))
		},
		"removed": func() { must(t, os.Remove(path)) },
	} {
		put(t, env, "f", "mine\n")
		asked := 0
		env.Guard = func(_ context.Context, kind, _ string, _ []string) error {
			if kind == GuardOpenRead {
				if asked++; asked == 2 { // the look before the rename
					change()
				}
			}
			return nil
		}
		r := call(t, env, "file_edit", editCall("f", "mine", "ours"))
		if r.Success || !strings.Contains(r.Error, "changed during the edit") {
			t.Errorf("%s: %+v", name, r)
		}
		if b, _ := os.ReadFile(path); strings.Contains(string(b), "ours") {
			t.Errorf("%s: %q", name, b)
		}
	}
}
