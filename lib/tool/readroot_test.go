package tool

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"clawsh/lib/config"
)

// withRoot adds a read root with a file, a hidden one and links to an environment.
func withRoot(t *testing.T) (*Env, string) {
	t.Helper()
	env := testEnv(t)
	root := filepath.Join(filepath.Dir(env.Config.WorkspaceDir), "log")
	for _, d := range []string{root + "/sub", root + "/secret", root + "x"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"a.log", "sub/b.log", "secret/key", "../logx/c", "../ws/own"} {
		if err := os.WriteFile(filepath.Join(root, f), []byte("text of "+f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../logx/c", "abs": root + "/a.log", "rel": "sub/b.log", "up": "..",
		"hidden": "secret/key"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(root+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	env.Config.ReadRoots = []config.ReadRoot{{Path: root}}
	env.Config.Secrets = []string{root + "/secret"}
	return env, root
}

func TestReadRoot(t *testing.T) {
	env, root := withRoot(t)
	for _, path := range []string{"/a.log", "/sub/b.log", "/abs", "/rel", "/sub/../a.log"} {
		if r := call(t, env, "file_read", map[string]any{"path": root + path}); !r.Success ||
			!strings.Contains(r.Output, "text of") {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for _, path := range []string{"/out", "/up/ws/own", "/secret/key", "/hidden", "/../logx/c", "x/c", "/fifo", "/none",
		"/sub"} {
		if r := call(t, env, "file_read", map[string]any{"path": root + path}); r.Success {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for tool, args := range map[string]map[string]any{"file_write": {"path": root + "/a.log", "content": "x"},
		"file_edit": {"path": root + "/a.log", "edits": []map[string]string{{"old": "text", "new": "x"}}}} {
		if r := call(t, env, tool, args); r.Success || !r.Denied {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	for script, denied := range map[string]bool{"cat() { while read -r l; do echo \"$l\"; done; }; cat <" + root +
		"/a.log": false, "echo x >" + root + "/new": true, "echo x >>" + root + "/a.log": true,
		"read x <" + root + "/secret/key": true, "read x <" + root + "/out": true, "[ -e " + root +
			"/../logx/c ]": true} {
		if r := call(t, env, "shell", map[string]any{"command": script}); r.Denied != denied {
			t.Errorf("%s: %+v", script, r)
		}
	}
}

// A link in the place of a read root is followed nowhere.
func TestReadRootReplaced(t *testing.T) {
	env, root := withRoot(t)
	if err := os.Rename(root, root+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root+"x", root); err != nil {
		t.Fatal(err)
	}
	if r := call(t, env, "file_read", map[string]any{"path": root + "/c"}); r.Success || !r.Denied {
		t.Errorf("%+v", r)
	}
}

// A directory that has taken the workspace's place since it was looked at is not worked in.
func TestWorkspaceReplaced(t *testing.T) {
	env := testEnv(t)
	env.Config.Workspace.ID = "1:1"
	for tool, args := range map[string]map[string]any{"file_list": {}, "file_write": {"path": "x", "content": "x"},
		"shell": {"command": "pwd"}} {
		if r := call(t, env, tool, args); r.Success || !strings.Contains(r.Error, "replaced") {
			t.Errorf("%s: %+v", tool, r)
		}
	}
}
