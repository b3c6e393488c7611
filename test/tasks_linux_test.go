package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"clawsh/test/corpus"
	"clawsh/test/need"
)

// A task is a piece of work as people give it, a file of testdata/tasks. Its comment says what it is about; message is
// what the user says, w/ the workspace, logs/ what lies outside of it, model what the model does (modelStep), and check
// the script that tells whether the work is done, run in the workspace with the answer in $ANSWER. Of the rest each may
// be missing: setup, run in the workspace before; answers, lines "REGEXP => ANSWER" for questions that do not get y;
// config, added to the configuration, and strict, added to it where builders would be denied otherwise, as a user of
// the strict way has to.
type task struct {
	name  string
	parts map[string]string
	files []txtar.File
}

func loadTasks(t *testing.T) []task {
	t.Helper()
	paths, err := filepath.Glob("../testdata/tasks/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d tasks, want 20: %v", len(paths), err)
	}
	var all []task
	for _, path := range paths {
		k, err := readTask(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

func readTask(path string) (task, error) {
	known := []string{"message", "model", "check", "setup", "answers", "config", "strict"}
	a, err := txtar.ParseFile(path)
	if err != nil {
		return task{}, err
	}
	k := task{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), parts: map[string]string{}}
	for _, f := range a.Files {
		switch {
		case strings.HasPrefix(f.Name, "w/"), strings.HasPrefix(f.Name, "logs/"):
			k.files = append(k.files, f)
		case slices.Contains(known, f.Name):
			k.parts[f.Name] = string(f.Data)
		default:
			return k, fmt.Errorf("%s: a part %q", path, f.Name)
		}
	}
	for _, name := range known[:3] {
		if k.parts[name] == "" {
			return k, fmt.Errorf("%s: no %s", path, name)
		}
	}
	return k, nil
}

// asked is how many questions a task asked at each way to work.
type asked struct {
	mu sync.Mutex
	n  map[string]map[string]int
}

func (a *asked) note(task, way string, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n[task] == nil {
		a.n[task] = map[string]int{}
	}
	a.n[task][way] = n
}

// aim is how many questions a task should need at the middle way, at most.
const aim = 2

// table prints the questions, and which tasks need more of them than the aim.
func (a *asked) table(tasks []task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "questions of each task, by way to work\n%-28s %7s %7s %7s\n", "", "strict", "middle", "full")
	sum := map[string]int{}
	for _, k := range tasks {
		over := ""
		if a.n[k.name]["middle"] > aim {
			over = fmt.Sprintf("   more than %d", aim)
		}
		fmt.Fprintf(&b, "%-28s", k.name)
		for _, w := range corpus.Ways {
			fmt.Fprintf(&b, " %7d", a.n[k.name][w.Name])
			sum[w.Name] += a.n[k.name][w.Name]
		}
		b.WriteString(over + "\n")
	}
	fmt.Fprintf(&b, "%-28s %7d %7d %7d", "all", sum["strict"], sum["middle"], sum["full"])
	return b.String()
}

// TestTasks has scripted models do small pieces of real work with the real programs, over a real server's protocol and
// on a real terminal, at each of the three ways to work, or at one of them in turn, the questions answered as a user
// would.
func TestTasks(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	tasks := loadTasks(t)
	questions := &asked{n: map[string]map[string]int{}}
	t.Run("each", func(t *testing.T) {
		for i, k := range tasks {
			for n, w := range corpus.Ways {
				if !need.OneIn(2*len(corpus.Ways), i+n+4) {
					continue
				}
				t.Run(k.name+"/"+w.Name, func(t *testing.T) {
					t.Parallel()
					questions.note(k.name, w.Name, k.run(t, w))
				})
			}
		}
	})
	if need.Soak() {
		t.Log(questions.table(tasks))
	}
}

// run does a task at one way to work and returns how many questions that took.
func (k task) run(t *testing.T, w corpus.Way) int {
	d := newDesk(t, k, w)
	n := d.work(t, k, w)
	if err := d.model.done(); err != nil {
		t.Error(err)
	}
	if out, err := d.script("check", k.parts["check"]); err != nil {
		t.Errorf("the work is not done: %v\n%s", err, out)
	}
	if out, err := d.command("clawsh", "receipt", "verify").CombinedOutput(); err != nil {
		t.Errorf("receipts: %v: %s", err, out)
	}
	if t.Failed() || os.Getenv("TASKS_SHOW") != "" {
		answer, _ := os.ReadFile(d.answer)
		t.Logf("answer: %s\nterminal:\n%s", answer, d.screen)
	}
	return n
}
