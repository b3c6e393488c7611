package config

import (
	"os"
	"strings"
	"testing"
)

func TestReadRootsInForce(t *testing.T) {
	g := newGround(t, `workspace_dir = "$DIR/users/me/bare"
[security]
read_roots = ["$DIR/secret", "$DIR/tosecret", "$DIR/none", "$DIR/plain", "$DIR/users/me/bare/in", "$DIR/other/home/ws", "$DIR/users/me/proj"]
`)
	g.env["DIR"] = g.dir
	g.link("DIR/secret", "tosecret")
	g.write("plain", "")
	if err := os.MkdirAll(g.dir+"/users/me/bare/in", 0o700); err != nil {
		t.Fatal(err)
	}
	c := g.in("users/me", "")
	want := []string{"", "name that", "no such directory", "not a directory", "in the workspace", "clawsh home", ""}
	for i, r := range c.ReadRoots {
		if want[i] == "" && r.Why != "" || !strings.Contains(r.Why, want[i]) {
			t.Errorf("%s: %q, want %q", r.Path, r.Why, want[i])
		}
	}
	if got := c.Readable(); len(got) != 2 || c.ReadRootOf(g.dir+"/secret/../secret/x") != g.dir+"/secret" ||
		c.ReadRootOf(g.dir+"/secrets") != "" || c.ReadRootOf("secret") != "" {
		t.Errorf("%v", got)
	}
	// the home directory under another name, once the root is looked at
	g.env["HOME"], g.env["CLAWSH_HOME"] = g.dir+"/tome", g.dir+"/users/me/.clawsh"
	g.link("DIR/users/me/proj", "tome")
	if c := g.in("users/me", ""); len(c.ReadRoots) != 7 || c.ReadRoots[6].Why == "" {
		t.Errorf("a root that a link makes the home directory: %+v", c.ReadRoots)
	}
}
