package test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"clawsh/lib/config"
	"clawsh/test/need"
)

// quirk is a file of testdata/servers: what a server does, what it must be sent, and what a user then sees. README.md
// there says how one is written.
type quirk struct {
	why     string
	config  []string // lines for the provider's table
	runs    []quirkRun
	answers map[string]string   // by number, and number with a mode
	sent    map[string][]string // by number: jq expressions over the request, all of which must be true
	total   int                 // of requests; -1: as many as there are answers
}

// quirkRun is one command, and what comes of it.
type quirkRun struct {
	args           []string
	exit           int
	stdout, stderr *regexp.Regexp
	not            []*regexp.Regexp
	checked        bool
}

// TestServers walks testdata/servers over the real binaries and a real server on this machine: once with a server that
// answers whole, once with one that streams, to a user who wants the answer piece by piece.
func TestServers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/servers/*.txtar")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	template := t.TempDir()
	if out, code := clawshSays(t, quirkEnv(t, template), "init"); code != 0 {
		t.Fatalf("init: %s", out)
	}
	for i, file := range files {
		q, err := readQuirk(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for k, mode := range []string{"plain", "streamed"} {
			if !need.OneIn(2, i+k) {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+mode, func(t *testing.T) {
				t.Parallel()
				q.play(t, mode, template)
			})
		}
	}
}

func readQuirk(file string) (*quirk, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a := txtar.Parse(b)
	q := &quirk{answers: map[string]string{}, sent: map[string][]string{}, total: -1}
	for _, line := range strings.Split(strings.TrimSpace(string(a.Comment)), "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q: want KEY: VALUE", line)
		}
		if err := q.set(key, strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	for _, f := range a.Files {
		if n, ok := strings.CutPrefix(f.Name, "sent "); ok {
			q.sent[n] = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			continue
		}
		q.answers[f.Name] = string(f.Data)
	}
	return q, q.complete()
}

func (q *quirk) set(key, value string) (err error) {
	if key == "run" {
		q.runs = append(q.runs, quirkRun{args: strings.Fields(value)})
		return nil
	}
	if len(q.runs) == 0 && key != "why" && key != "config" && key != "requests" {
		q.runs = append(q.runs, quirkRun{args: []string{"hello"}})
	}
	switch key {
	case "why":
		q.why = value
	case "config":
		q.config = append(q.config, value)
	case "requests":
		q.total, err = strconv.Atoi(value)
	default:
		return q.runs[len(q.runs)-1].set(key, value)
	}
	return err
}

func (r *quirkRun) set(key, value string) (err error) {
	switch key {
	case "exit":
		r.exit, err = strconv.Atoi(value)
		return err
	case "stdout":
		r.stdout, err = regexp.Compile("(?s)" + value)
	case "stderr":
		r.stderr, err = regexp.Compile("(?s)" + value)
	case "not":
		var re *regexp.Regexp
		re, err = regexp.Compile("(?s)" + value)
		r.not = append(r.not, re)
		return err
	default:
		return fmt.Errorf("there is no such key")
	}
	r.checked = true
	return err
}

// complete refuses a file that proves nothing.
func (q *quirk) complete() error {
	switch {
	case q.why == "":
		return fmt.Errorf("it does not say why")
	case len(q.runs) == 0 || len(q.answers) == 0:
		return fmt.Errorf("it expects nothing")
	}
	for _, r := range q.runs {
		if !r.checked {
			return fmt.Errorf("nothing is expected of %v", r.args)
		}
	}
	return nil
}

// play runs the commands of a quirk against its server.
func (q *quirk) play(t *testing.T, mode, template string) {
	s := newQuirkServer(t, q, mode)
	env := quirkHome(t, q, s.URL, template)
	for _, r := range q.runs {
		r.check(t, env, mode)
	}
	want := q.total
	if want < 0 {
		want = s.numbered()
	}
	if s.count() != want {
		t.Errorf("%d requests, want %d", s.count(), want)
	}
	for n, exprs := range q.sent {
		s.checkSent(t, n, exprs)
	}
}

// quirkEnv is the environment of a user.
func quirkEnv(t *testing.T, home string) []string {
	return []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8",
		"TZ=UTC",
		"TEST_KEY=sk-test-1234567890", "TEST_HEADER=hidden-value-4711"}
}

// quirkHome copies a home that init has made, makes the server its provider, and returns the environment for it.
func quirkHome(t *testing.T, q *quirk, url, template string) []string {
	t.Helper()
	home := t.TempDir()
	if out, err := exec.Command("cp", "-pR", template+"/.", home).CombinedOutput(); err != nil {
		t.Fatalf("copy the home: %s", out)
	}
	env := quirkEnv(t, home)
	file := filepath.Join(home, ".clawsh", "config.toml")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings := []config.Setting{{Key: "default_provider", Value: "web"}}
	if !sandboxWorks() {
		settings = append(settings, config.Setting{Key: "security.sandbox", Value: "off"})
	}
	text, err := config.Edit(old, settings)
	if err != nil {
		t.Fatal(err)
	}
	base := url + "/v1"
	lines := []string{"", "[providers.models.web]", `kind = "openai-compatible"`, `model = "m-1"`,
		`api_key_env = "TEST_KEY"`}
	other := fmt.Sprintf("\n[providers.models.other]\nkind = \"openai-compatible\"\nmodel = \"m-2\"\nbase_url = %q\n",
		base)
	for _, l := range q.config {
		if path, ok := strings.CutPrefix(l, "base_url = "); ok {
			base = url + strings.Trim(path, `"`)
			continue
		}
		lines = append(lines, l)
	}
	lines = append(lines, fmt.Sprintf("base_url = %q", base), other)
	text = append(text, strings.Join(lines, "\n")...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return env
}

// clawshSays runs clawsh and returns all that it says.
func clawshSays(t *testing.T, env []string, args ...string) (string, int) {
	var out bytes.Buffer
	cmd := clawshCommand(t, env, args)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode()
}

func clawshCommand(t *testing.T, env, args []string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "clawsh"), args...)
	cmd.Env = env
	return cmd
}

func (r *quirkRun) check(t *testing.T, env []string, mode string) {
	t.Helper()
	args := append([]string{"-n"}, r.args...)
	if len(r.args) > 0 && slices.Contains([]string{"provider", "config", "session"}, r.args[0]) {
		args = r.args
	} else if mode == "streamed" {
		args = append(args, "--stream")
	}
	cmd := clawshCommand(t, env, args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != r.exit {
		t.Errorf("clawsh %v: exit %d, want %d", args, code, r.exit)
	}
	for name, c := range map[string]struct {
		got  string
		want *regexp.Regexp
	}{"stdout": {stdout.String(), r.stdout}, "stderr": {stderr.String(), r.stderr}} {
		if c.want != nil && !c.want.MatchString(c.got) {
			t.Errorf("clawsh %v: %s lacks %s", args, name, c.want)
		}
	}
	for _, re := range append(r.not, regexp.MustCompile("sk-test-1234567890|hidden-value-4711|panic|goroutine")) {
		if re.MatchString(stdout.String() + stderr.String()) {
			t.Errorf("clawsh %v: somewhere is %s", args, re)
		}
	}
	if t.Failed() {
		t.Logf("stdout: %s\nstderr: %s", stdout.String(), stderr.String())
	}
}
