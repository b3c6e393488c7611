package config

import (
	"os"
	"testing"
)

func TestLooksAreKept(t *testing.T) {
	g := newGround(t, "")
	l, proj := looks{}, g.dir+"/users/me/proj"
	dir, err := l.stat(proj)
	if err != nil || !l.holds(dir, proj+"/a/b") || l.holds(dir, g.dir+"/users/me/bare") {
		t.Fatalf("%v", err)
	}
	g.link("DIR/users/me/proj/a", "in")
	if !l.holds(dir, g.dir+"/in/b") {
		t.Error("a path that a link leads into the directory")
	}
	if err := os.RemoveAll(proj); err != nil {
		t.Fatal(err)
	}
	if _, err := l.stat(proj); err != nil {
		t.Errorf("it was looked at again: %v", err)
	}
	if _, err := looks(nil).stat(proj); err == nil {
		t.Error("without a load, it was not looked at again")
	}
}

// Who says that no workspace is needed gets none, wherever it was named.
func TestProgramsWithoutAWorkspace(t *testing.T) {
	g := newGround(t, "[security]\nread_roots = [\"/usr\"]\n")
	g.env[EnvWorkspace] = g.dir + "/users/me/proj"
	p, err := Locate("", func(n string) string { return g.env[n] })
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{"", g.dir + "/users/me/bare", g.dir + "/users/me"} {
		p.Workspace, p.NoWorkspace = named, true
		c, err := Load(p)
		if err != nil || c.WorkspaceDir != "" || c.CheckWorkspace() == nil || len(c.WorkspaceEnv()) > 0 ||
			c.Readable() != nil {
			t.Errorf("%s: %v %+v", named, err, c)
		}
	}
}
