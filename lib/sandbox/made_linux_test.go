package sandbox

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestCoversThatAreTakenAway: what a program makes where its user has removed a cover is told of, however it looks.
func TestCoversThatAreTakenAway(t *testing.T) {
	for _, c := range []struct {
		left, script string
		obeyed       []string
		want         []string
	}{
		{"", "mkdir .git; echo x >.git/config", nil, []string{".git"}},
		{"", "mkdir .git; echo x >.git/config; chmod 1711 .git", nil, []string{".git"}},
		{"", "mkdir .git; echo x >.git/config", []string{".vscode/tasks.json"}, []string{".git"}},
		{"", "echo x >.git", nil, []string{".git"}},
		{"", "mkdir objects refs; echo x >HEAD", nil, []string{".", "HEAD"}},
		{"", "mkdir objects refs; echo x >HEAD", []string{".vscode/tasks.json"}, []string{".", "HEAD"}},
		{".git", "mkdir .git; echo x >.git/config", nil, []string{".git"}},
		{".git", "mkdir .git; echo x >.git/config; chmod 1711 .git", nil, []string{".git"}},
		{"HEAD", "mkdir objects refs; echo x >HEAD", nil, []string{".", "HEAD"}},
		{"", "mkdir .git; echo x >.git/config", []string{".git/config"}, nil},
		{"", "true", nil, nil},
	} {
		eachEngine(t, func(b *box) {
			if c.left != "" { // by a killed process
				syscall.Mkdir(filepath.Join(b.place.Workspace, c.left), placeholderBits)
				syscall.Chmod(filepath.Join(b.place.Workspace, c.left), placeholderBits)
			}
			exit := b.uncovered(c.obeyed, c.script)
			if !slices.Equal(exit.Made, c.want) {
				b.t.Errorf("left %q, %q, permitted %q: %q was told of, want %q", c.left, c.script, c.obeyed, exit.Made,
					c.want)
			}
		})
	}
}

// uncovered runs a script from whose workspace the covers go while it runs.
func (b *box) uncovered(obeyed []string, script string) Exit {
	b.t.Helper()
	place := b.place
	place.Obeyed = obeyed
	before := place.standing()
	place.found = before.repositories
	in, more, _ := os.Pipe()
	out, says, _ := os.Pipe()
	defer in.Close()
	go func() {
		defer more.Close()
		defer out.Close()
		r := bufio.NewReader(out)
		if _, err := r.ReadString('\n'); err == nil {
			os.Remove(filepath.Join(b.place.Workspace, ".git"))
			os.Remove(filepath.Join(b.place.Workspace, "HEAD"))
			io.WriteString(more, "go\n")
		}
		io.Copy(io.Discard, r)
	}()
	exit, err := b.e.run(b.t.Context(), place, b.limits,
		Program{Argv: []string{"/bin/sh", "-c", "echo ready; read x; " + script},
			Dir: place.Workspace, Env: []string{"PATH=/usr/bin:/bin"}}, Streams{Stdin: in, Stdout: says, Stderr: says})
	says.Close()
	if err != nil {
		b.t.Fatal(err)
	}
	exit.Made = place.made(before)
	return exit
}
