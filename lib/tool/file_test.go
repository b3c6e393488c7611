package tool

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"clawsh/lib/spelling"
)

type obj = struct {
	Path       string `json:"path"`
	Content    string `json:"content,omitzero"`
	Mode       string `json:"mode,omitzero"`
	Offset     *int   `json:"offset,omitzero"`
	Limit      *int   `json:"limit,omitzero"`
	Recursive  bool   `json:"recursive,omitzero"`
	MaxEntries int    `json:"max_entries,omitzero"`
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostile fills a workspace with what a tool must not fall for, and returns a file outside.
func hostile(t *testing.T, env *Env) (outside string) {
	t.Helper()
	ws := env.Config.WorkspaceDir
	outside = filepath.Join(filepath.Dir(ws), "outside.txt")
	must(t, os.WriteFile(outside, []byte("secret"), 0o644))
	put(t, env, "d/in.txt", "inside")
	must(t, os.Symlink("in.txt", ws+"/d/rel"))
	must(t, os.Symlink(outside, ws+"/out"))
	must(t, os.Symlink("../outside.txt", ws+"/out2"))
	must(t, os.Symlink("..", ws+"/up"))
	must(t, os.Symlink("/", ws+"/rootlink"))
	must(t, os.Symlink("loop", ws+"/loop"))
	must(t, os.Symlink("nowhere", ws+"/dangling"))
	must(t, os.Symlink("../new.txt", ws+"/danglingout"))
	must(t, os.Link(outside, ws+"/hard"))
	must(t, unix.Mkfifo(ws+"/fifo", 0o644))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	t.Chdir(ws)
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "sock"}))
	must(t, os.MkdirAll(ws+"/.git/hooks", 0o755))
	put(t, env, ".git/config", "[core]")
	must(t, os.Symlink(".git", ws+"/innocent"))
	return outside
}

func TestFileReadRefuses(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	put(t, env, "bin", "a\x00b")
	put(t, env, "latin1", "caf\xe9")
	put(t, env, "big", strings.Repeat("x", 1<<16+1))
	put(t, env, "forbidden/x", "no")
	env.Config.Security.ForbiddenPaths = []string{filepath.Join(env.Config.WorkspaceDir, "forbidden")}
	must(t, os.Truncate(put(t, env, "sparse", ""), 1<<40))
	for path, want := range map[string]string{
		"": "empty", "..": "outside", "../outside.txt": "outside", outside: "outside", "/etc/passwd": "outside",
		"d/../../outside.txt": "outside",
		"out":                 "outside", "out2": "outside", "up/outside.txt": "outside",
		"rootlink/etc/passwd": "outside",
		"~/x":                 "outside", "~": "outside",
		"loop": "", "dangling": "no such", "absent": "no such", "d/absent/x": "no such", "d/in.txt/x": "",
		"a\x00b": "NUL",
		"fifo":   "named pipe", "sock": "socket", "d": "directory", ".": "directory",
		"bin": "binary", "latin1": "binary", "big": "65537 bytes, the limit is 65536: read parts",
		"sparse":      "from_line and lines",
		"forbidden/x": "forbidden", strings.Repeat("x", 5000): "", strings.Repeat("d/", 3000) + "x": "",
	} {
		r := call(t, env, "file_read", obj{Path: path})
		if r.Success || r.Output != "" || !strings.Contains(r.Error, want) || strings.Contains(r.Error, "secret") {
			t.Errorf("%.80q: %+v, want %q", path, r, want)
		}
		if denied := want == "outside" || want == "forbidden"; r.Denied != denied {
			t.Errorf("%.80q: denied %v", path, r.Denied)
		}
	}
}

func TestFileRead(t *testing.T) {
	env := testEnv(t)
	hostile(t, env)
	for _, path := range []string{"d/in.txt", "d/rel", "./d/../d/in.txt",
		filepath.Join(env.Config.WorkspaceDir, "d/in.txt")} {
		if r := call(t, env, "file_read", obj{Path: path}); !r.Success || r.Output != "inside" ||
			r.Meta.TotalBytes != 6 || r.Meta.Truncated {
			t.Errorf("%s: %+v", path, r)
		}
	}
	put(t, env, "empty", "")
	if r := call(t, env, "file_read", obj{Path: "empty"}); !r.Success || r.Output != "" {
		t.Errorf("empty: %+v", r)
	}
	put(t, env, "long", "HEAD"+strings.Repeat("€", 10_000)+"TAIL")
	r := call(t, env, "file_read", obj{Path: "long"})
	if !r.Success || !r.Meta.Truncated || r.Meta.TotalBytes != 30_008 || len(r.Output) > 4200 ||
		!strings.HasSuffix(r.Output, "TAIL") {
		t.Errorf("long: %d bytes, %+v", len(r.Output), r.Meta)
	}
}

func TestFileReadPartsAddUp(t *testing.T) {
	env := testEnv(t)
	whole := strings.Repeat("aé€😀\n", 500)
	put(t, env, "f", whole)
	for _, limit := range []int{4, 5, 7, 1000} {
		var got strings.Builder
		for offset := 0; offset < len(whole); {
			r := call(t, env, "file_read", obj{Path: "f", Offset: &offset, Limit: &limit})
			if !r.Success {
				t.Fatalf("limit %d offset %d: %+v", limit, offset, r)
			}
			text, mark, more := strings.Cut(r.Output, "\n[bytes ")
			got.WriteString(text)
			if !more {
				break
			}
			if _, err := fmt.Sscanf(mark[strings.Index(mark, "offset"):], "offset %d]", &offset); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != whole {
			t.Errorf("limit %d: parts do not add up", limit)
		}
	}
	one, far, zero := 1, len(whole)+1, 0
	for _, o := range []obj{{Path: "f", Offset: &far}, {Path: "f", Offset: &one, Limit: &one}} {
		if r := call(t, env, "file_read", o); o.Offset == &far && r.Success {
			t.Errorf("read behind the end: %+v", r)
		}
	}
	if r := call(t, env, "file_read", obj{Path: "f", Offset: &zero}); !r.Success || r.Meta.Truncated ||
		len(r.Output) > 4096 {
		t.Errorf("offset alone: %+v", r.Meta)
	}
}

func TestFileWriteRefuses(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	put(t, env, "big", "")
	must(t, os.Chmod(put(t, env, "readonly", "x"), 0o444))
	for path, want := range map[string]string{
		"": "empty", "..": "outside", ".": "directory", "d": "directory", "../new.txt": "outside", outside: "outside",
		"/etc/x": "outside",
		"out":    "outside", "up/new.txt": "outside", "up/ws/x": "outside", "rootlink/tmp/x": "outside",
		"danglingout": "",
		"d/rel":       "symbolic link", "dangling": "symbolic link", "loop": "", "hard": "hard links",
		"fifo": "named pipe",
		"sock": "socket",
		".git": ".git", ".git/config": ".git", ".git/hooks/pre-commit": ".git", ".GIT/hooks/x": ".git",
		"sub/.git/config": ".git",
		"innocent/config": ".git", "innocent/hooks/new": ".git", "readonly": "read-only", "d/in.txt/x": "",
		"n\x00l": "NUL", strings.Repeat("n", 300): "", "big/\x00": "NUL",
	} {
		for _, mode := range []string{"overwrite", "create", "append"} {
			r := call(t, env, "file_write", obj{Path: path, Content: "EVIL", Mode: mode})
			if r.Success || !strings.Contains(r.Error, want) {
				t.Errorf("%s %.80q: %+v, want %q", mode, path, r, want)
			}
		}
	}
	if r := call(t, env, "file_write", obj{Path: "x", Content: strings.Repeat("x", 1<<16+1)}); r.Success {
		t.Errorf("too big: %+v", r)
	}
	assertNoEvil(t, filepath.Dir(env.Config.WorkspaceDir))
}

// assertNoEvil checks that nothing below dir was written by a refused call, and that no temporary file is left.
func assertNoEvil(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), "EVIL") || strings.Contains(d.Name(), ".clawsh-") {
			t.Errorf("%s: %q", path, b)
		}
		return err
	})
	must(t, err)
}

func TestFileWrite(t *testing.T) {
	env := testEnv(t)
	ws := env.Config.WorkspaceDir
	for _, c := range []struct {
		path, mode, content, want string
		fails                     bool
	}{
		{"a", "", "one", "one", false},
		{"a", "overwrite", "two", "two", false},
		{"a", "append", "+three", "two+three", false},
		{"a", "create", "four", "two+three", true},
		{"new/deep/b", "create", "five", "five", false},
		{"new/c", "append", "six", "six", false},
		{ws + "/new/c", "overwrite", "", "", false},
		{"odd \x1b[31m\nname", "", "x", "x", false},
		{".gitignore", "", "x", "x", false},
	} {
		r := call(t, env, "file_write", struct {
			Path    string `json:"path"`
			Content string `json:"content"`
			Mode    string `json:"mode,omitzero"`
		}{c.path, c.content, c.mode})
		path := c.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(ws, path)
		}
		b, err := os.ReadFile(path)
		if r.Success == c.fails || err != nil || string(b) != c.want || strings.ContainsAny(r.Output, "\x1b\n") {
			t.Errorf("%+v: %+v, file %q, %v", c, r, b, err)
		}
		if !c.fails && !strings.Contains(r.Output, "wrote "+spelling.Count(len(c.content), "byte")) {
			t.Errorf("output %q", r.Output)
		}
	}
	assertNoEvil(t, ws)
	must(t, os.Chmod(ws+"/a", 0o640|fs.ModeSetuid))
	call(t, env, "file_write", obj{Path: "a", Content: "x"})
	if info, _ := os.Stat(ws + "/a"); info.Mode() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestFileWriteLeavesTheOldFileWhenTheDiskIsFull(t *testing.T) {
	if !inChild(t) {
		return
	}
	env := testEnv(t)
	path := put(t, env, "a", "old")
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 10, Max: old.Max}))
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &old)
	r := call(t, env, "file_write", obj{Path: "a", Content: strings.Repeat("EVIL", 100)})
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
	if b, _ := os.ReadFile(path); r.Success || string(b) != "old" || !strings.Contains(r.Error, syscall.EFBIG.Error()) {
		t.Errorf("%+v, file %q", r, b)
	}
	assertNoEvil(t, env.Config.WorkspaceDir)
}

func TestFileList(t *testing.T) {
	env := testEnv(t)
	outside := hostile(t, env)
	put(t, env, "odd\x1b]0;own\a", "")
	r := call(t, env, "file_list", `{}`)
	want := strings.ReplaceAll(`       -  .git/
       -  d/
       -  dangling -> nowhere
       -  danglingout -> ../new.txt
       -  fifo (named pipe)
       6  hard
       -  innocent -> .git
       -  loop -> loop
       0  odd\x1b]0;own\x07
       -  out -> OUT
       -  out2 -> ../outside.txt
       -  rootlink -> /
       -  sock (socket)
       -  up -> ..
`, "OUT", outside)
	if !r.Success || r.Output != want {
		t.Errorf("got %s\nwant %s\n%+v", r.Output, want, r)
	}
	r = call(t, env, "file_list", obj{Path: ".", Recursive: true})
	if !strings.Contains(r.Output, "d/in.txt") || strings.Contains(r.Output, ".git/config") ||
		strings.Contains(r.Output, "rootlink/") {
		t.Errorf("recursive: %s", r.Output)
	}
	if r := call(t, env, "file_list", obj{Path: "d/in.txt"}); r.Output != "       6  in.txt\n" {
		t.Errorf("file: %+v", r)
	}
	for _, path := range []string{"..", "out", "up", "rootlink", "/", "absent", "loop"} {
		if r := call(t, env, "file_list", obj{Path: path}); r.Success || r.Output != "" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestFileListIsBounded(t *testing.T) {
	env := testEnv(t)
	for i := range 300 {
		put(t, env, fmt.Sprintf("many/%03d", i), "")
	}
	for most, want := range map[int]string{0: "… and 100 more\n", 1: "… and 299 more\n", 299: "… and 1 more\n",
		300: "299\n"} {
		r := call(t, env, "file_list", obj{Path: "many", MaxEntries: most})
		if !strings.HasSuffix(r.Output, want) {
			t.Errorf("max_entries %d: ends in %q", most, r.Output[max(0, len(r.Output)-40):])
		}
	}
	must(t, os.Mkdir(env.Config.WorkspaceDir+"/none", 0o755))
	if r := call(t, env, "file_list", obj{Path: "none"}); r.Output != "(empty)\n" {
		t.Errorf("%+v", r)
	}
	env.Config.WorkspaceDir += "/gone"
	if r := call(t, env, "file_list", `{}`); r.Success || !strings.Contains(r.Error, "no such directory") {
		t.Errorf("%+v", r)
	}
}

// TestSwappedDirectory has a directory of the path replaced by a link to the outside, again and again, while files are
// read and written through it.
func TestSwappedDirectory(t *testing.T) {
	env := testEnv(t)
	ws := env.Config.WorkspaceDir
	outside := filepath.Join(filepath.Dir(ws), "elsewhere")
	must(t, os.Mkdir(outside, 0o755))
	must(t, os.WriteFile(outside+"/f", []byte("secret"), 0o644))
	put(t, env, "d/f", "inside")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(ws+"/d", ws+"/real")
			os.Symlink(outside, ws+"/d")
			os.Remove(ws + "/d")
			os.Rename(ws+"/real", ws+"/d")
		}
	}()
	for range 300 {
		if r := call(t, env, "file_read", obj{Path: "d/f"}); strings.Contains(r.Output, "secret") {
			t.Fatalf("read outside: %+v", r)
		}
		call(t, env, "file_write", obj{Path: "d/g", Content: "EVIL"})
	}
	close(stop)
	<-stopped
	assertNoEvil(t, outside)
}
