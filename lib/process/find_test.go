package process

import (
	"os"
	"slices"
	"testing"
)

func TestEnvironmentIsAnAllowlist(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "CLAWSH_HOME=/c", "CLAWSH_API_KEY=s", "OPENAI_API_KEY=s",
		"LD_PRELOAD=x", "FOO=1", "bad", "AWS_SECRET=s",
		"LC_TOKEN=s", "CLAWSH_PASSWORD=s", "CLAWSH_credential=s", "PATHS=x", "=x", "XPATH=x", "SSH_AUTH_SOCK=/s"}
	if got := Environment(environ); !slices.Equal(got, []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "CLAWSH_HOME=/c"}) {
		t.Errorf("%v", got)
	}
	if got := Environment(nil); got == nil {
		t.Error("nil would be taken for our own environment")
	}
	if got := Environment(environ, "OPENAI_API_KEY"); !slices.Contains(got, "OPENAI_API_KEY=s") ||
		slices.Contains(got, "AWS_SECRET=s") {
		t.Errorf("%v", got)
	}
}

func TestFindNeverLooksHere(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/claw-x", []byte("#!/bin/sh\n"), 0o755)
	t.Chdir(dir)
	for _, path := range []string{".", "", ":", "sub:."} {
		t.Setenv("PATH", path)
		if p, err := Find("claw-x"); err == nil {
			t.Errorf("PATH=%q: found %s", path, p)
		}
	}
	t.Setenv("PATH", dir)
	if p, err := Find("claw-x"); err != nil || p != dir+"/claw-x" {
		t.Errorf("%s, %v", p, err)
	}
	os.Mkdir(dir+"/claw-dir", 0o755)
	os.WriteFile(dir+"/claw-text", nil, 0o644)
	for _, name := range []string{"", "claw-dir", "claw-text", "claw-none", ".", "..", "./claw-x", "../claw-x",
		dir + "/claw-x"} {
		if _, err := Find(name); err == nil {
			t.Errorf("found %q", name)
		}
	}
}
