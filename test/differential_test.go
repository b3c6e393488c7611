package test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/config"
	"clawsh/lib/policy"
	"clawsh/lib/record"
)

// scriptGrammar makes scripts out of bytes: upper-case words are replaced by one of their forms.
var scriptGrammar = map[string][]string{
	"SCRIPT": {"SIMPLE", "SCRIPT; SCRIPT", "SCRIPT && SCRIPT", "SCRIPT || SCRIPT", "SIMPLE | SIMPLE",
		"for v in ITEMS; do SCRIPT; done", "if SIMPLE; then SCRIPT; else SCRIPT; fi",
		"while read -r v; do SCRIPT; done < PATH", "(SCRIPT)", "{ SCRIPT; }",
		"case WORD in WORD) SCRIPT;; *) SCRIPT;; esac", "v=WORD; SCRIPT", "cd PATH && SCRIPT", "cd PATH; SCRIPT",
		"! SIMPLE", "n=$((n+1)); SCRIPT"},
	"SIMPLE": {"PROG WORD", "PROG WORD WORD", "PROG", "echo WORD > PATH", "PROG < PATH", "cat <<X\nWORD\nX",
		"find PATH -name WORD", "find PATH -type f -exec PROG {} +", "find . | xargs PROG", "timeout 1 PROG WORD",
		"LC_ALL=C PROG WORD", "sed WORD PATH", "awk WORD PATH", "sort -o PATH PATH", "git log WORD", "test -f PATH",
		"[[ -f PATH ]]", "cp PATH PATH", "env PROG WORD", "command PROG WORD"},
	"PROG": {"ls", "cat", "grep x", "wc -l", "head -n 1", "echo", "sort", "rm", "make", "$v", "tee", "mv", "PROG",
		"touch", "uniq", "diff"},
	"WORD": {"a.txt", "\"$v\"", "$v", "$(PROG WORD)", "*", "sub/*", "-o", "--files0-from=a.txt", "../x", "{a,b}.txt",
		"'a b'", "\"a$v\"", "$HOME", "~/x", "/etc/passwd", "1p", "'{print $1}'", "$((1+2))", "l*", "link/x", "-", "--"},
	"PATH": {"a.txt", "sub", "sub/b.txt", "\"$v\"", "new", "link", "..", ".git/config", "*.txt", "/etc/passwd",
		"sub/..", "$(echo sub)"},
	"ITEMS": {"a.txt b.txt", "*.txt", "$(ls)", "sub link", "1 2 3", "WORD WORD", "../*"},
}

// generate makes a script; each byte chooses a form, and where there are no more bytes the first form is taken.
func generate(symbol string, seed *[]byte, depth int) string {
	forms := scriptGrammar[symbol]
	form := forms[0]
	if len(*seed) > 0 && depth < 8 {
		form = forms[int((*seed)[0])%len(forms)]
		*seed = (*seed)[1:]
	} else if symbol == "PROG" {
		form = "ls"
	}
	var out strings.Builder
	for i := 0; i < len(form); {
		next := ""
		for name := range scriptGrammar {
			if strings.HasPrefix(form[i:], name) && name != "" {
				next = name
			}
		}
		if next == "" {
			out.WriteByte(form[i])
			i++
			continue
		}
		out.WriteString(generate(next, seed, depth+1))
		i += len(next)
	}
	return out.String()
}

// recorder runs a script with handlers that note what it does, and do not do it.
type recorder struct {
	policy   *policy.Policy
	output   string // what every program says
	risk     string
	reason   string
	surprise []string
}

func (r *recorder) run(t *testing.T, script, dir string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return
	}
	runner, err := interp.New(interp.Env(expand.ListEnviron("HOME=/run/home", "PATH=/usr/bin:/bin")), interp.Dir(dir),
		interp.StdIO(strings.NewReader(r.output), io.Discard, io.Discard),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return r.exec }),
		interp.OpenHandler(r.open),
		interp.ReadDirHandler2(func(_ context.Context, path string) ([]fs.DirEntry, error) {
			if !strings.HasPrefix(path, dir) {
				return nil, nil
			}
			return os.ReadDir(path)
		}),
		interp.StatHandler(func(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(interp.HandlerCtx(ctx).Dir, name)
			}
			return os.Lstat(path)
		}))
	if err != nil {
		t.Fatal(err)
	}
	runner.Run(t.Context(), file)
}

// exec notes a program that the guard of the executor would let run, and that the verdict has not named.
func (r *recorder) exec(ctx context.Context, argv []string) error {
	h := interp.HandlerCtx(ctx)
	if err := r.policy.ExecIn(ctx, h.Dir, argv, policy.Permitted{Risk: r.risk}); err != nil {
		return fmt.Errorf("denied: %w", err) // what was not foreseen does not run
	}
	if !strings.Contains(r.reason, argv[0]) {
		r.surprise = append(r.surprise, fmt.Sprintf("runs %q", argv))
	}
	io.WriteString(h.Stdout, r.output)
	return nil
}

func (r *recorder) open(ctx context.Context, path string, flag int, _ fs.FileMode) (io.ReadWriteCloser, error) {
	if path == os.DevNull {
		return nopFile{}, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(interp.HandlerCtx(ctx).Dir, path)
	}
	if err := r.policy.Access(ctx, path, flag&(os.O_WRONLY|os.O_RDWR) != 0,
		policy.Permitted{Risk: r.risk}); err != nil {
		r.surprise = append(r.surprise, fmt.Sprintf("opens %s: %v", path, err))
		return nil, err
	}
	return nopFile{}, nil
}

type nopFile struct{}

func (nopFile) Read([]byte) (int, error)    { return 0, io.EOF }
func (nopFile) Write(p []byte) (int, error) { return len(p), nil }
func (nopFile) Close() error                { return nil }

// FuzzDifferential: what a script that was judged medium does in the interpreter, with whatever output its programs
// have, the verdict has foreseen: the programs that it names, and files that may be opened. A program with words that
// were not foreseen is refused when it is about to start.
func FuzzDifferential(f *testing.F) {
	for i := range byte(40) {
		f.Add([]byte{i, i * 3, i * 7, i + 5, i ^ 0x55, i * 11, 1, 2, 3, i}, "../x\n")
		f.Add([]byte{i * 5, 200 - i, i, 9, 8, i * 2, i * 13, 4, i, 6, 7}, "-o\n/etc/passwd")
	}
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range []string{"sub", ".git"} {
		os.Mkdir(filepath.Join(dir, d), 0o755)
	}
	for _, name := range []string{"a.txt", "b.txt", "sub/b.txt", ".git/config"} {
		os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644)
	}
	os.Symlink("/etc", filepath.Join(dir, "link"))
	home := f.TempDir()
	file := filepath.Join(home, "config.toml")
	os.WriteFile(file, []byte("workspace_dir = \""+dir+"\"\n[security]\nautonomy = \"full\"\n"), 0o600)
	paths, err := config.Locate(file,
		func(name string) string { return map[string]string{"HOME": home, "CLAWSH_HOME": home}[name] })
	if err != nil {
		f.Fatal(err)
	}
	cfg, err := config.Load(paths)
	if err != nil {
		f.Fatal(err)
	}
	p, err := policy.New(cfg, policy.OS{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, seed []byte, output string) {
		if len(seed) > 200 || len(output) > 200 {
			return
		}
		script := generate("SCRIPT", &seed, 0)
		args, err := record.Encode(map[string]string{"command": script})
		if err != nil {
			return
		}
		v := p.Decide(policy.Call{Tool: "shell", Args: args})
		if v.Outcome == policy.Deny || v.Risk == record.RiskHigh {
			return
		}
		r := &recorder{policy: p, output: output, risk: v.Risk, reason: v.Reason}
		r.run(t, script, dir)
		for _, s := range r.surprise {
			t.Errorf("%q was %s (%s), and %s", script, v.Risk, v.Reason, s)
		}
	})
}
