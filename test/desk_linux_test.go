package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"clawsh/lib/config"
	"clawsh/test/corpus"
)

// A desk is where a task is worked on: a home, a workspace, a directory of logs outside of it, and a model.
type desk struct {
	home, workspace, logs string
	answer                string // the file with the answer
	env                   []string
	places                *strings.Replacer // of {{W}} and {{LOGS}}
	model                 *taskModel
	screen                string // what the terminal showed
}

// exitDenied says that something was denied with nobody asked: that happens at the strict way.
const exitDenied = 77

// taskTime is how long a turn of a task may take.
const taskTime = 2 * time.Minute

func newDesk(t *testing.T, k task, w corpus.Way) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{home: filepath.Join(dir, "home"), workspace: filepath.Join(dir, "home", "project"),
		logs:   filepath.Join(dir, "logs"),
		answer: filepath.Join(dir, "answer")}
	for _, sub := range []string{d.workspace, d.logs, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.env = []string{"HOME=" + d.home, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "TZ=UTC", "TERM=xterm", "ANSWER=" + d.answer,
		"LOGS=" + d.logs,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada",
		"GIT_COMMITTER_EMAIL=ada@example.com"}
	d.places = strings.NewReplacer("{{W}}", d.workspace, "{{LOGS}}", d.logs)
	if err := d.write(k.files); err != nil {
		t.Fatal(err)
	}
	if out, err := d.script("setup", k.parts["setup"]); err != nil {
		t.Fatalf("setup: %v: %s", err, out)
	}
	var url string
	d.model, url = newTaskModel(t, k.parts["model"], d.places)
	d.configure(t, k, w, url)
	if k.isGo() {
		d.warm(t)
	}
	return d
}

func (d *desk) write(files []txtar.File) error {
	for _, f := range files {
		top, name, _ := strings.Cut(f.Name, "/")
		path := filepath.Join(map[string]string{"w": d.workspace, "logs": d.logs}[top], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// configure makes the home, as init does, and sets what a user of this way to work has set.
func (d *desk) configure(t *testing.T, k task, w corpus.Way, url string) {
	t.Helper()
	if out, err := d.command("clawsh", "init").CombinedOutput(); err != nil {
		t.Fatalf("init: %v: %s", err, out)
	}
	path := filepath.Join(d.home, ".clawsh", "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := w.Security + "\n" + k.parts["config"]
	more := fmt.Sprintf("\n[providers.models.task]\nkind = \"openai-compatible\"\nmodel = \"scripted\"\nbase_url = \"%s/v1\"\n", url)
	if w.Name == "strict" {
		more += k.parts["strict"]
	}
	settings := []config.Setting{{Key: "default_provider", Value: "task"}, {Key: "limits.max_tool_rounds", Raw: "25"}}
	for l := range strings.Lines(lines) {
		if key, value, ok := strings.Cut(strings.TrimSpace(l), " = "); ok {
			settings = append(settings, config.Setting{Key: "security." + key, Raw: d.places.Replace(value)})
		}
	}
	if text, err = config.Edit(append(text, more...), settings); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// script runs a script of the task in the workspace, as its owner: outside of every sandbox.
func (d *desk) script(name, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	return d.command("bash", "-euc", text, name).CombinedOutput()
}

func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	if path := filepath.Join(bin, args[0]); strings.HasPrefix(args[0], "claw") {
		cmd = exec.Command(path, args[1:]...)
	}
	cmd.Dir, cmd.Env = d.workspace, d.env
	return cmd
}

// work has the message answered on a terminal, answers the questions, and returns how many there were.
func (d *desk) work(t *testing.T, k task, w corpus.Way) int {
	t.Helper()
	master, slave, err := openPTY()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	out, err := os.Create(d.answer)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := d.command("clawsh", "-C", ".", d.places.Replace(strings.TrimSpace(k.parts["message"])))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, out, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	ctx, cancel := context.WithTimeout(t.Context(), taskTime)
	defer cancel()
	user := &taskUser{screen: newScreen(master), answers: k.parts["answers"],
		say: func(s string) { master.WriteString(s + "\n") }}
	over := make(chan struct{})
	go func() { err = cmd.Wait(); close(over) }()
	if user.attend(ctx, over) != nil {
		cmd.Process.Kill()
		<-over
		err = fmt.Errorf("still running after %v", taskTime)
	}
	d.screen = user.screen.text()
	if code := cmd.ProcessState.ExitCode(); code != 0 && !(code == exitDenied && w.Name == "strict") {
		t.Errorf("clawsh: %v", err)
	}
	return user.asked
}

// A taskUser reads questions and answers them.
type taskUser struct {
	screen  *screen
	answers string
	say     func(string)
	asked   int
	seen    int // bytes of the screen that were answered
}

var question = regexp.MustCompile(`(?s)^.*?Approve\? \[[^]]*\] ?`)

// attend answers questions until the program has ended.
func (u *taskUser) attend(ctx context.Context, over <-chan struct{}) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		text := u.screen.text()[u.seen:]
		if q := question.FindString(text); q != "" {
			u.seen += len(q)
			u.asked++
			u.say(u.reply(q))
			continue
		}
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return errors.New("the time is over")
		case <-tick.C:
		}
	}
}

// reply is the answer of the first line that fits the question, and y otherwise.
func (u *taskUser) reply(question string) string {
	for l := range strings.Lines(u.answers) {
		if expr, answer, ok := strings.Cut(strings.TrimSpace(l), " => "); ok && regexp.MustCompile(expr).
			MatchString(question) {
			return answer
		}
	}
	return "y"
}
