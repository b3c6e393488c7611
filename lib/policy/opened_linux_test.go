package policy

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"clawsh/lib/policy/programs"
	"clawsh/test/need"
)

// traps are files that programs look for where they stand, or at home, beside what they are told to read.
var traps = strings.Fields(".ripgreprc .rgignore .ignore .jq .magic magic magic.mgc .lesskey .less .nanorc .inputrc .dircolors .dir_colors .gitconfig .awkrc " +
	".toprc .grep .grepignore .sedrc .diffrc .config/jq/init.jq .config/ripgrep/config .hushlogin .tmrc .cksumrc .xzrc .treerc .screenrc .terminfo/d/dumb " +
	"locale.alias C.mo lib.awk default.awk awkvars.out libc.so.6 ld.so.preload LC_MESSAGES/grep.mo")

// TestLowProgramsOpenWhatIsNamed runs, under strace(1), each example of the table, and each of its options, that is of
// low risk: nothing is opened but what a word names and what the system's own libraries are made of, no link is
// followed out, and nothing else is executed.
func TestLowProgramsOpenWhatIsNamed(t *testing.T) {
	t.Parallel()
	need.Program(t, "strace")
	w := newTrapped(t)
	p := &Policy{workspace: w.dir, root: w.dir, workspaceOnly: true, harmless: true, sandbox: "auto", fs: OS{}}
	var commands []string
	for _, known := range programs.All() {
		if known.How == programs.Modelled {
			p.commands = append(p.commands, known.Names...)
			commands = append(commands, variants(known)...)
		}
	}
	ran := map[string]bool{}
	for i, c := range commands {
		name, _, _ := strings.Cut(c, " ")
		if ran[name] && !need.OneIn(8, i) {
			continue
		}
		// git has a test of its own, with every key that it knows
		if _, err := exec.LookPath(name); err != nil || name == "git" {
			continue
		}
		f := p.script(c, newEffort())
		if f.rank() == 0 {
			w.check(t, c)
			ran[name] = true
		}
	}
	t.Logf("%d programs", len(ran))
	if len(ran) < 60 {
		t.Errorf("only %d programs ran: %q", len(ran), slices.Sorted(maps.Keys(ran)))
	}
}

// variants are a program's examples, under each of its names, and one command for each of its options, under the first.
func variants(p *programs.Program) (out []string) {
	values := map[programs.Kind]string{programs.Text: "x", programs.Number: "1", programs.Read: "a", programs.Tree: "a"}
	for i, name := range p.Names {
		for _, example := range p.Match {
			if _, words, ok := strings.Cut(example, " "); ok {
				out = append(out, name+" "+words)
			}
		}
		operands := " a"
		if len(p.Operands) > 0 && p.Operands[0] == programs.Text {
			operands = " x a"
		}
		if out = append(out, name, name+operands); i > 0 {
			continue
		}
		for _, option := range p.OptionNames() {
			of, _ := p.Option(option)
			value, known := values[of.Kind]
			switch {
			case of.Value && !known:
			case of.Value && strings.HasPrefix(option, "--"):
				out = append(out, name+" "+option+"="+value+operands)
			case of.Value:
				out = append(out, name+" "+option+" "+value+operands)
			default:
				out = append(out, name+" "+option+operands)
			}
		}
	}
	return out
}

// trapped is a workspace full of traps, with a home that is another.
type trapped struct{ dir, home, outside string }

func newTrapped(t *testing.T) *trapped {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &trapped{filepath.Join(top, "ws"), filepath.Join(top, "home"), filepath.Join(top, "outside")}
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(w.outside+"/secret", "secret\n")
	for _, name := range traps {
		write(filepath.Join(w.dir, name), "x\n")
	}
	for name, text := range map[string]string{"a": "x 1\n", "b": "x 1\n", "src/main.go": "package main\n",
		"a.json": "{}\n",
		"go.mod": "module x\ngo 1.99\ntoolchain go1.99.0\n", "go.work": "go 1.99\ntoolchain go1.99.0\n"} {
		write(filepath.Join(w.dir, name), text)
	}
	write(w.home+"/.keep", "")
	for link, to := range map[string]string{"link": w.outside + "/secret", "src/out": w.outside, "dir": w.outside} {
		if err := os.Symlink(to, filepath.Join(w.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"gzip", "-k", "a"}, {"bzip2", "-k", "a"}, {"xz", "-k", "a"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = w.dir
		cmd.Run() // where it is not installed, nothing is compressed
	}
	return w
}

// system is where the system's own files are, which every program may open.
var system = regexp.MustCompile(`^(/usr/|/lib|/proc/|/sys/|/dev/|/run/|/var/run/|/var/log/wtmp|pipe:|socket:|anon_inode:|` +
	`/etc/(ld\.so|locale|localtime|timezone|passwd|group|nsswitch|magic|host|resolv|gai|mtab|terminfo))`)

// traced are lines of strace -y: a program that is started, and a file that is open.
var (
	started = regexp.MustCompile(`execve\("([^"]*)".*\) = 0`)
	opened  = regexp.MustCompile(`open(?:at|at2)?\(.*\) = \d+<([^>]*)>`)
)

// startsAnother has programs that are scripts: they start another of the table.
var startsAnother = map[string][]string{"egrep": {"grep"}, "fgrep": {"grep"}, "zcat": {"gzip"}, "gunzip": {"gzip"}}

// unnamed tells whether a program opens a file that no word names, and why that is well.
func unnamed(name, file string, w *trapped) bool {
	switch name {
	case "du", "find": // the workspace, where they are told no directory; of directories, only names are read
		info, err := os.Lstat(file)
		return err == nil && info.IsDir() && strings.HasPrefix(file, w.dir)
	case "id", "groups": // looks whether accounts come from elsewhere
		return slices.Contains([]string{"/", "/etc", "/usr", "/run"}, file)
	case "go": // counts what it was asked, at home
		return strings.HasPrefix(file, filepath.Join(w.home, ".config/go/telemetry"))
	}
	return false
}

// check runs a command under strace, and looks at what it has opened and started.
func (w *trapped) check(t *testing.T, command string) {
	t.Helper()
	log := filepath.Join(w.home, "trace")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", "-f", "-y", "-o", log, "-e", "trace=open,openat,openat2,execve,execveat",
		"sh", "-c", command)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "LANG=C.UTF-8", "TERM=dumb",
		"GOTOOLCHAIN=local"} // as lib/tool sets it
	cmd.Run() // whether it succeeds is its own affair
	raw, err := os.ReadFile(log)
	if err != nil || ctx.Err() != nil {
		t.Errorf("%s: %v, %v", command, err, ctx.Err())
		return
	}
	words := strings.Fields(command)
	words = append(words, startsAnother[words[0]]...)
	for line := range strings.Lines(string(raw)) {
		if m := started.FindStringSubmatch(line); m != nil && filepath.Base(m[1]) != "sh" &&
			!slices.Contains(words, filepath.Base(m[1])) {
			t.Errorf("%s: starts %s", command, m[1])
		}
		if m := opened.FindStringSubmatch(line); m != nil && !w.may(words, m[1]) && !unnamed(words[0], m[1], w) {
			t.Errorf("%s: opens %s", command, m[1])
		}
	}
}

// may tells whether a command of these words may open a file: it is the system's, or named, or below a directory that
// is named, the workspace itself if none is.
func (w *trapped) may(words []string, file string) bool {
	if system.MatchString(file) {
		return true
	}
	rel, err := filepath.Rel(w.dir, file)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	return rel == "." || slices.ContainsFunc(words, func(word string) bool {
		word = strings.Trim(word, `'"`)
		return rel == filepath.Clean(word) || word == "." || strings.HasPrefix(rel, word+"/") ||
			word == fmt.Sprintf("./%s", rel)
	})
}
