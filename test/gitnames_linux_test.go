package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// outsideCanary is what nothing that reads a repository may show: it lies outside the workspace, where programs of the
// sandbox can read it. The text is a name for a mail map, and stops git where it wants anything else; git then says
// where it stopped.
const outsideCanary = "CANARY7f3a"

// trap is a repository of which one thing leads out of the workspace.
type trap struct {
	name string
	set  func(repo string) error
}

// outside is what lies there: a file, a repository with files, and in its objects one that has the canary.
type outside struct{ dir, text, tree, blob, commit string }

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func layOutside(t *testing.T, dir string) outside {
	t.Helper()
	o := outside{dir: dir, text: dir + "/text", tree: dir + "/tree"}
	put(t, o.text, outsideCanary+" Name <c@c> <a@b>\n"+outsideCanary+"\n")
	put(t, o.tree+"/a.txt", outsideCanary+" in a file\n")
	put(t, o.tree+"/"+outsideCanary+".txt", "a name\n")
	gitIn(t, o.tree, "init", "-q", "-b", "main")
	gitIn(t, o.tree, "add", ".")
	gitIn(t, o.tree, "commit", "-qm", outsideCanary+" in a message")
	gitIn(t, o.tree, "config", "alias.x", outsideCanary)
	o.blob, o.commit = gitIn(t, o.tree, "rev-parse", "HEAD:a.txt"), gitIn(t, o.tree, "rev-parse", "HEAD")
	return o
}

// keyTraps name what lies outside by each setting that names a file.
func (o outside) keyTraps(t *testing.T) []trap {
	var traps []trap
	for key, kind := range gitKeys(t) {
		if kind != "file" {
			continue
		}
		for _, value := range []string{o.text, o.tree} {
			traps = append(traps, trap{key + " = " + filepath.Base(value), func(repo string) error {
				return setKeys(repo, map[string]string{settled(key): value})
			}})
		}
	}
	return traps
}

// Files of a repository that git reads when it looks, also those of a rebase, a merge or a search that is under way.
var repositoryFiles = strings.Fields(`HEAD ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE CHERRY_PICK_HEAD REVERT_HEAD AUTO_MERGE
	BISECT_LOG BISECT_START SQUASH_MSG config config.worktree description index packed-refs shallow commondir gitdir
	info/exclude info/attributes info/grafts info/sparse-checkout info/refs objects/info/alternates objects/info/packs
	objects/info/commit-graph refs/heads/main refs/heads/led refs/tags/led refs/stash refs/notes/commits refs/replace/led
	refs/remotes/origin/HEAD logs/HEAD logs/refs/heads/main logs/refs/stash rebase-merge/git-rebase-todo rebase-merge/done
	rebase-merge/head-name rebase-merge/onto rebase-apply/next rebase-apply/head-name rebase-apply/onto sequencer/todo
	sequencer/opts worktrees/led/gitdir worktrees/led/HEAD remotes/origin branches/origin modules/c/config
	../.gitattributes ../.gitignore ../.gitmodules ../.mailmap ../sub/.git`)

// Directories of a repository, which another can stand in for.
var repositoryDirs = strings.Fields("objects refs refs/heads logs info objects/info objects/pack hooks rebase-merge ../sub")

// fileTraps put a link to what lies outside in the place of each file and directory.
func (o outside) fileTraps() []trap {
	var traps []trap
	add := func(name, to string) {
		traps = append(traps, trap{name + " -> " + filepath.Base(to), func(repo string) error {
			path := filepath.Join(repo, ".git", name)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			return os.Symlink(to, path)
		}})
	}
	for _, name := range repositoryFiles {
		add(name, o.text)
	}
	for _, name := range append(slices.Clone(repositoryDirs), repositoryFiles...) {
		if to := filepath.Join(o.tree, ".git", name); exists(to) {
			add(name, to)
		}
	}
	return traps
}

// pointerTraps are files in which git finds the way to another directory.
func (o outside) pointerTraps() []trap {
	write := func(name, text string) trap {
		return trap{name + " says " + filepath.Base(strings.TrimSpace(text)), func(repo string) error {
			path := filepath.Join(repo, name)
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(text), 0o644)
		}}
	}
	git := o.tree + "/.git"
	return []trap{write(".git", "gitdir: "+git+"\n"), write(".git/commondir", git+"\n"),
		write(".git/objects/info/alternates", git+"/objects\n"),
		write(".git/objects/info/http-alternates", git+"/objects\n"),
		write(".git/HEAD", "ref: ../../outside/tree/.git/HEAD\n"),
		write(".git/refs/heads/led", o.commit+"\n"), write(".git/gitdir", git+"\n"),
		write(".git/info/exclude", "!"+o.tree+"\n"),
		{"the repository is a link", func(repo string) error {
			if err := os.RemoveAll(repo + "/.git"); err != nil {
				return err
			}
			return os.Symlink(git, repo+"/.git")
		}}}
}

// looking are commands of git that only look, as one script.
func (o outside) looking(repo string) string {
	commands := append(slices.Clone(gitLooks), "git cat-file -p "+o.blob, "git show "+o.commit, "git log -p "+o.commit,
		"git ls-tree "+o.commit)
	return "cd " + repo + "; " + strings.Join(commands, "; ")
}

// gitLooks are commands whose answers depend on the settings and files of a repository, one or more of each kind.
var gitLooks = []string{"git status --ignored", "git diff HEAD~1", "git log -p --all",
	"git log --format='%aN %s %D %N %G?'", "git show HEAD:a.txt",
	"git blame a.txt", "git branch -av", "git tag -n", "git remote -v", "git ls-files -s",
	"git ls-files -o --exclude-standard", "git ls-tree HEAD",
	"git describe --all", "git reflog", "git stash show", "git grep --untracked -n CANARY", "git show-ref"}

// TestReadingGitStaysInside runs what is deemed reading in repositories that lead out of the workspace wherever they
// can: what lies there is not shown, though the sandbox lets programs read it.
func TestReadingGitStaysInside(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	home := t.TempDir()
	w := filepath.Join(home, "clawsh-workspace")
	o := layOutside(t, filepath.Join(home, "outside"))
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	setUp := exec.Command("sh", "-ec", `clawsh init
		sed -i -e 's/^harmless = .*/harmless = "low"/' -e 's|^read = \[\].*|read = ["`+o.dir+`"]|' .clawsh/config.toml
		clawsh config validate; grep -q '^read = .*outside' .clawsh/config.toml`)
	setUp.Dir, setUp.Env = home, env
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	traps := slices.Concat(o.keyTraps(t), o.fileTraps())
	slices.SortFunc(traps, func(a, b trap) int { return strings.Compare(a.name, b.name) })
	leads := 12 // so many at least must lead out
	if !need.Soak() {
		nth := 0
		traps = slices.DeleteFunc(traps, func(trap) bool { nth++; return nth%4 != 1 })
		leads = 2
	}
	traps = append(traps, o.pointerTraps()...)
	layTraps(t, w, traps)
	var in bytes.Buffer
	for i := range traps {
		in.Write(shellCall(t, i+1, o.looking(fmt.Sprint("r", i+1))))
	}
	cmd := exec.Command("sh", "-c", "claw-gate | claw-exec")
	cmd.Dir, cmd.Env, cmd.Stdin = home, env, &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(out) {
		if n++; n > len(traps) {
			break
		}
		checkTrap(t, traps[n-1].name, line)
	}
	if n != len(traps) {
		t.Errorf("%d results of %d", n, len(traps))
	}
	o.showsWithout(t, w, traps, leads)
}

// layTraps makes a repository for each trap, r1 and so on.
func layTraps(t *testing.T, w string, traps []trap) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "r")
	put(t, from+"/a.txt", "one\n")
	put(t, from+"/b.txt", "one\n")
	gitIn(t, from, "init", "-q", "-b", "main")
	gitIn(t, from, "add", ".")
	gitIn(t, from, "commit", "-qm", "one")
	put(t, from+"/a.txt", "two\n")
	gitIn(t, from, "commit", "-qam", "two")
	gitIn(t, from, "config", "log.showSignature", "true")
	gitIn(t, from, "config", "extensions.worktreeConfig", "true")
	put(t, from+"/b.txt", "changed\n")
	for i, p := range traps {
		repo := filepath.Join(w, fmt.Sprint("r", i+1))
		if err := os.CopyFS(repo, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		if err := p.set(repo); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
	}
}

func checkTrap(t *testing.T, name string, line []byte) {
	t.Helper()
	var r record.ToolResult
	if err := record.DecodeOpen(bytes.TrimSpace(line), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict == nil || r.Verdict.Risk != record.RiskLow {
		t.Errorf("%s: it is not of low risk: %s", name, r.Error)
	}
	for shown := range strings.Lines(r.Output + r.Error) {
		if strings.Contains(shown, outsideCanary) {
			t.Errorf("%s: it shows %q", name, shown)
			return
		}
	}
}

// showsWithout shows that the traps lead out: the same commands, without us.
func (o outside) showsWithout(t *testing.T, w string, traps []trap, least int) {
	t.Helper()
	var leads []string
	for i, p := range traps {
		cmd := exec.Command("sh", "-c", o.looking(fmt.Sprint("r", i+1)))
		cmd.Dir, cmd.Env = w, []string{"HOME=" + w, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_PAGER=cat"}
		if out, _ := cmd.CombinedOutput(); bytes.Contains(out, []byte(outsideCanary)) {
			leads = append(leads, p.name)
		}
	}
	if len(leads) < least {
		t.Errorf("only these lead out without a sandbox, so that they show nothing: %q", leads)
	}
	t.Logf("without the sandbox %d of %d lead out", len(leads), len(traps))
}
