package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"clawsh/lib/turn"
)

// TestTurnFlagsReachTheLoop: each flag of the table is one of clawsh, which hands it on as it is, and one of claw-loop.
func TestTurnFlagsReachTheLoop(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	env := append(os.Environ(), "HOME="+dir, "CLAWSH_HOME="+home, "CLAWSH_MODEL=")
	run := func(path string, args ...string) (string, error) {
		cmd := exec.Command(path, args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(filepath.Join(bin, "clawsh"), "init"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	prices := "\n[[usage.prices]]\nmodel = \"*\"\ninput_per_million = 1\noutput_per_million = 1\n"
	config, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "config.toml"), append(config, prices...), 0o600)
	}
	if err == nil {
		err = os.Link(filepath.Join(bin, "clawsh"), filepath.Join(dir, "clawsh"))
	}
	loop := "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$CLAWSH_HOME/said\"\n"
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "claw-loop"), []byte(loop), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	var o turn.Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Flags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		value := map[string]string{"string": "some text", "bool": "true", "duration": "1m30s"}[f.Value.Type()]
		if value == "" {
			value = "7"
		}
		flag := "--" + f.Name + "=" + value
		out, _ := run(filepath.Join(dir, "clawsh"), "-n", flag, "hello") // whose claw-loop says nothing
		said, err := os.ReadFile(filepath.Join(home, "said"))
		if err != nil {
			t.Fatalf("%s: %v: %s", flag, err, out)
		}
		args := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(said)), "\n"),
			func(a string) bool { return a == "--control=3" })
		if !slices.Equal(args, []string{flag}) {
			t.Errorf("%s reaches claw-loop as %q", flag, args)
		}
		if out, err := run(filepath.Join(bin, "claw-loop"), append(args, "--help")...); err != nil {
			t.Errorf("claw-loop does not take %q: %v: %s", args, err, out)
		}
		os.Remove(filepath.Join(home, "said"))
	})
}
