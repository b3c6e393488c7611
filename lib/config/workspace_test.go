package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clawsh/lib/envelope"
	"clawsh/lib/place"
)

// ground is a scratch user: HOME with clawsh's home in it, and directories beside.
type ground struct {
	t    *testing.T
	dir  string // everything is below it
	env  map[string]string
	text string
}

func newGround(t *testing.T, text string) *ground {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{t: t, dir: dir, text: text, env: map[string]string{"HOME": dir + "/users/me"}}
	for _, d := range []string{"users/me/.clawsh/keys", "users/me/.clawsh/agents", "users/me/proj/.git",
		"users/me/proj/a/b", "users/me/bare", "other/home/keys", "other/home/ws", "secret/place"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g.write("users/me/.clawsh/keys/permit.key", "")
	g.write("other/home/keys/permit.key", "")
	g.write("users/me/file", "")
	g.write("users/me/.clawsh/config.toml", text)
	return g
}

func (g *ground) write(name, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) link(target, name string) {
	g.t.Helper()
	if err := os.Symlink(strings.ReplaceAll(target, "DIR", g.dir), filepath.Join(g.dir, name)); err != nil {
		g.t.Fatal(err)
	}
}

// in loads the configuration in a directory, with -C if that is not empty.
func (g *ground) in(dir, flag string) *Config {
	g.t.Helper()
	g.t.Chdir(filepath.Join(g.dir, dir))
	p, err := Locate("", func(n string) string { return g.env[n] })
	if err != nil {
		g.t.Fatal(err)
	}
	p.Workspace = strings.ReplaceAll(flag, "DIR", g.dir)
	c, err := Load(p)
	if err != nil {
		g.t.Fatal(err)
	}
	return c
}

func (g *ground) trust(c *Config) {
	g.t.Helper()
	t, err := ReadTrust(c.Home)
	if err != nil {
		g.t.Fatal(err)
	}
	b, err := t.With(Trusted{Path: c.Workspace.Real, Directory: Mark(c.Workspace.Real, c.Workspace.ID),
		TrustedAt: "2026-05-12T14:00:00.000Z"}).Text()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(TrustPath(c.Home), b, 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return envelope.From(err).Code
}

func TestRefusedWorkspaces(t *testing.T) {
	for _, c := range []struct{ dir, why string }{
		{"/", "whole file system"}, {"//", "whole file system"}, {"/usr/..", "whole file system"},
		{"/proc/self/root", "whole file system"},
		{"DIR/users/me", "home directory"}, {"DIR/users/me/", "home directory"}, {"DIR/users/me/.", "home directory"},
		{"DIR/users/me/proj/..", "home directory"},
		{"DIR/users/me/proj/a/b/../../..", "home directory"}, {"DIR/users", "home directory"},
		{"DIR", "home directory"},
		{"DIR/tohome", "home directory"}, {"DIR/tohome/", "home directory"}, {"DIR/tousers", "home directory"},
		{"DIR/tobare/..", "home directory"}, {"DIR/toto", "home directory"},
		{"DIR/users/me/.clawsh", "clawsh"}, {"DIR/users/me/.clawsh/agents", "clawsh"}, {"DIR/toagents", "clawsh"},
		{"DIR/users/me/.clawsh/keys", "clawsh"},
		{"DIR/other/home/ws", "clawsh home"}, {"DIR/other/home", "clawsh home"},
		{"/etc", "forbidden path"}, {"/proc/self/cwd/../../../../../../../../../../etc", "forbidden path"},
		{"/proc/self", "forbidden path"}, {"/sys/kernel", "forbidden path"}, {"DIR/secret", "forbidden path"},
		{"DIR/secret/place", "forbidden path"}, {"DIR/toplace", "forbidden path"},
		{"DIR/users/me/none", "no such file"}, {"DIR/users/me/file", "not a directory"},
		{"DIR/nowhere", "no such file"}, {"none", "no such file"}, {"file", "not a directory"},
	} {
		g := newGround(t, "[security]\nforbidden_paths = [\"/etc\", \"/proc\", \"/sys\", \"$SECRET\"]\n")
		g.env["SECRET"] = g.dir + "/secret"
		for name, to := range map[string]string{"tohome": "DIR/users/me", "tousers": "users",
			"tobare": "DIR/users/me/bare", "toto": "tohome", "toagents": "DIR/users/me/.clawsh/agents",
			"toplace": "DIR/secret/place", "nowhere": "DIR/none"} {
			g.link(to, name)
		}
		for _, from := range []string{FromFlag, FromEnvironment} {
			flag := c.dir
			if delete(g.env, EnvWorkspace); from == FromEnvironment {
				if !strings.HasPrefix(c.dir, "/") && !strings.HasPrefix(c.dir, "DIR") {
					continue
				}
				g.env[EnvWorkspace], flag = strings.ReplaceAll(c.dir, "DIR", g.dir), ""
			}
			cfg := g.in("users/me", flag)
			err := cfg.CheckWorkspace()
			if err == nil || !strings.Contains(err.Error(), c.why) || cfg.WorkspaceDir != "" {
				t.Errorf("%s by %s: %q, %v, want %s", c.dir, from, cfg.WorkspaceDir, err, c.why)
			}
			if want := map[string]int{FromFlag: 64, FromEnvironment: 78}[from]; err != nil &&
				envelope.From(err).Exit != want {
				t.Errorf("%s by %s: exit %d, want %d", c.dir, from, envelope.From(err).Exit, want)
			}
		}
	}
}

// A fixed workspace is told apart by its name when the file is read, and by where it leads.
func TestRefusedFixedWorkspace(t *testing.T) {
	g := newGround(t, "workspace_dir = \"$DIR/tohome\"\n")
	g.env["DIR"] = g.dir
	g.link("DIR/users/me", "tohome")
	if c := g.in("users/me", ""); code(c.CheckWorkspace()) != "workspace.refused" || c.WorkspaceDir != "" {
		t.Errorf("%q %v", c.WorkspaceDir, c.CheckWorkspace())
	}
}

func TestRelativeWorkspaceDirHintsAtHere(t *testing.T) {
	for _, value := range []string{".", "./x", "..", "../x", "$PWD", "${PWD}/x"} {
		_, err := Load(places(t, "workspace_dir = \""+value+"\"\n"))
		if err == nil || !strings.Contains(err.Error(), `workspace = "here"`) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestWorkspacePrecedence(t *testing.T) {
	g := newGround(t, "workspace = \"here\"\nworkspace_dir = \"~/bare\"\n")
	if c := g.in("users/me/proj/a", ""); c.Workspace.From != FromHere ||
		code(c.Workspace.Err) != "workspace.untrusted" || envelope.From(c.Workspace.Err).Exit != 77 {
		t.Errorf("%+v", c.Workspace)
	}
	g.env[EnvWorkspace] = g.dir + "/users/me/proj/a"
	if c := g.in("users/me/proj", ""); c.Workspace.From != FromEnvironment ||
		c.WorkspaceDir != g.dir+"/users/me/proj/a" {
		t.Errorf("%+v", c.Workspace)
	}
	if c := g.in("users/me/proj", "a/b"); c.Workspace.From != FromFlag || c.WorkspaceDir != g.dir+"/users/me/proj/a/b" {
		t.Errorf("%+v", c.Workspace)
	}
	g.env[EnvWorkspace] = "proj"
	if c := g.in("users/me", ""); code(c.Workspace.Err) != "workspace.invalid" {
		t.Errorf("%+v", c.Workspace)
	}
	delete(g.env, EnvWorkspace)
	g.write("users/me/.clawsh/config.toml", "workspace_dir = \"~/bare\"\n")
	if c := g.in("users/me/proj", ""); c.Workspace.From != FromConfig || c.WorkspaceDir != g.dir+"/users/me/bare" {
		t.Errorf("%+v", c.Workspace)
	}
}

func TestHere(t *testing.T) {
	g := newGround(t, "workspace = \"here\"\n")
	for _, c := range []struct{ in, want, code string }{
		{"users/me/proj/a/b", "users/me/proj", "workspace.untrusted"},
		{"users/me/bare", "users/me/bare", "workspace.untrusted"},
		{"users/me", "", "workspace.refused"},
		{"users", "", "workspace.refused"},
		{"users/me/.clawsh/agents", "", "workspace.refused"},
		{"other/home/ws", "", "workspace.refused"},
	} {
		cfg := g.in(c.in, "")
		if code(cfg.Workspace.Err) != c.code || cfg.WorkspaceDir != "" || c.want != "" &&
			cfg.Workspace.Dir != filepath.Join(g.dir, c.want) {
			t.Errorf("%s: %+v", c.in, cfg.Workspace)
		}
	}
	// A repository that could not be a workspace is none: who keeps all of $HOME in git works in the directory itself.
	if err := os.Mkdir(g.dir+"/users/me/.git", 0o700); err != nil {
		t.Fatal(err)
	}
	if c := g.in("users/me/bare", ""); c.Workspace.Dir != g.dir+"/users/me/bare" {
		t.Errorf("%+v", c.Workspace)
	}
	// The file .git of a linked work tree counts.
	g.write("users/me/proj/a/.git", "gitdir: elsewhere\n")
	if c := g.in("users/me/proj/a/b", ""); c.Workspace.Dir != g.dir+"/users/me/proj/a" {
		t.Errorf("%+v", c.Workspace)
	}
}

func TestRepositoryOfSomebodyElse(t *testing.T) {
	g := newGround(t, "workspace = \"here\"\n")
	c := g.in("users/me/proj/a", "")
	p := Paths{Home: c.Home, File: c.File, getenv: func(n string) string { return g.env[n] }}
	for foreign, want := range map[string]string{"": "users/me/proj", ".git": "", "proj": ""} {
		root, _ := p.repository(c, g.dir+"/users/me/proj/a", func(info fs.FileInfo) int {
			if info.Name() == foreign {
				return 12345
			}
			return owner(info)
		})
		if want != "" {
			want = filepath.Join(g.dir, want)
		}
		if root != want {
			t.Errorf("%q of another user: %q, want %q", foreign, root, want)
		}
	}
}

// TestTrustEndsWithItsDirectory: a directory that is made anew often has the inode of the one that was removed, but not
// its birth.
func TestTrustEndsWithItsDirectory(t *testing.T) {
	dir := t.TempDir()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	id := place.Identity(info)
	old := Trusted{Path: dir, Directory: Mark(dir, id)}
	if !old.is(id) || old.State() != "ok" {
		t.Errorf("%+v is not %s", old, id)
	}
	if runtime.GOOS == "linux" && (born(dir) == "" || old.Directory != id+":"+born(dir)) {
		t.Errorf("%s, born at %q, is marked %s", id, born(dir), old.Directory)
	}
	old.Directory = id + ":1.000000000"
	if since, replaced := (Trust{[]Trusted{old}}).of(dir, id); since != "" || !replaced || old.State() != "replaced" {
		t.Errorf("another one of that inode is trusted since %q", since)
	}
}

func TestTrustIsOfADirectory(t *testing.T) {
	g := newGround(t, "workspace = \"here\"\n")
	first := g.in("users/me/bare", "")
	g.trust(first)
	if c := g.in("users/me/bare", ""); c.CheckWorkspace() != nil || c.WorkspaceDir != g.dir+"/users/me/bare" ||
		c.Workspace.Trusted == "" {
		t.Fatalf("%+v", c.Workspace)
	}
	for _, dir := range []string{"users/me/proj", "users/me/bare/sub"} {
		os.MkdirAll(filepath.Join(g.dir, dir), 0o700)
		if c := g.in(dir, ""); code(c.CheckWorkspace()) != "workspace.untrusted" {
			t.Errorf("%s beside or below a trusted one: %+v", dir, c.Workspace)
		}
	}
	// one on the way to the repository's root that was trusted by itself
	if c := g.in("users/me/proj/a", ""); c.Workspace.Dir != g.dir+"/users/me/proj" {
		t.Errorf("%+v", c.Workspace)
	}
	a := g.in("users/me/proj/a", "")
	info, err := os.Stat(g.dir + "/users/me/proj/a")
	if err != nil {
		t.Fatal(err)
	}
	a.Workspace.Real, a.Workspace.ID = g.dir+"/users/me/proj/a", place.Identity(info)
	g.trust(a)
	if c := g.in("users/me/proj/a/b", ""); c.WorkspaceDir != g.dir+"/users/me/proj/a" {
		t.Errorf("%+v", c.Workspace)
	}
	if c := g.in("users/me/proj", ""); code(c.CheckWorkspace()) != "workspace.untrusted" {
		t.Errorf("%+v", c.Workspace)
	}
	// renamed, and another put in its place
	if err := os.Rename(g.dir+"/users/me/bare", g.dir+"/users/me/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(g.dir+"/users/me/bare", 0o700); err != nil {
		t.Fatal(err)
	}
	c := g.in("users/me/bare", "")
	if code(c.CheckWorkspace()) != "workspace.changed" || !errors.Is(c.CheckWorkspace(), ErrUntrusted) {
		t.Errorf("a directory in the place of a trusted one: %+v", c.Workspace)
	}
	if c := g.in("users/me/moved", ""); code(c.CheckWorkspace()) != "workspace.untrusted" {
		t.Errorf("a trusted directory under another name: %+v", c.Workspace)
	}
	// replaced while the question stands
	if err := os.Rename(g.dir+"/users/me/bare", g.dir+"/users/me/away"); err != nil {
		t.Fatal(err)
	}
	g.link("DIR/users/me/proj", "users/me/bare")
	if err := c.Admit(); code(err) != "workspace.changed" || c.WorkspaceDir != "" {
		t.Errorf("during the question: %v", err)
	}
	// a stage that was told another directory
	g.env[EnvWorkspace], g.env[EnvWorkspaceID] = g.dir+"/users/me/proj", first.Workspace.ID
	if c := g.in("users/me", ""); code(c.CheckWorkspace()) != "workspace.changed" || c.WorkspaceDir != "" {
		t.Errorf("a stage in a replaced directory: %+v", c.Workspace)
	}
}

func TestTrustFileThatOthersMayHaveWritten(t *testing.T) {
	g := newGround(t, "workspace = \"here\"\n")
	g.trust(g.in("users/me/bare", ""))
	path := g.dir + "/users/me/.clawsh/workspaces.toml"
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(){
		"mode":    func() { os.Chmod(path, 0o660) },
		"link":    func() { os.Rename(path, path+".x"); os.Symlink(path+".x", path) },
		"fifo":    func() { os.Remove(path); os.Mkdir(path, 0o700) },
		"no list": func() { os.WriteFile(path, []byte("workspaces = 5\n"), 0o600) },
		"unknown": func() { os.WriteFile(path, append([]byte("all = true\n"), good...), 0o600) },
	} {
		os.RemoveAll(path)
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		spoil()
		if _, err := ReadTrust(filepath.Dir(path)); code(err) != "workspace.trust" {
			t.Errorf("%s: %v", name, err)
		}
		if name != "no list" && name != "unknown" {
			continue // then nothing starts: TestEveryEntryWithEveryFault
		}
		if c := g.in("users/me/bare", ""); code(c.CheckWorkspace()) != "workspace.trust" || c.WorkspaceDir != "" {
			t.Errorf("%s: %+v", name, c.Workspace)
		}
	}
}

// A path that nobody can read would spoil the list of trusted directories, and the question.
func TestUnreadablePaths(t *testing.T) {
	for _, name := range []string{"a\nb", "a\x1b[2Jb", "a\xffb"} {
		g := newGround(t, "workspace = \"here\"\n")
		if err := os.Mkdir(filepath.Join(g.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if c := g.in(name, ""); code(c.CheckWorkspace()) != "workspace.invalid" ||
			strings.ContainsAny(c.CheckWorkspace().Error(), "\n\x1b") {
			t.Errorf("%q: %v", name, c.CheckWorkspace())
		}
		if _, err := (Paths{getenv: func(n string) string { return g.env[n] }}).
			Candidate(&Config{}, filepath.Join(g.dir, name)); code(err) != "workspace.invalid" {
			t.Errorf("%q as a candidate: %v", name, err)
		}
	}
}
