package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clawsh/lib/obeyed"
	"clawsh/lib/record"
	"clawsh/test/need"
)

// TestObeyedFiles shows for each program that it really obeys: it is started in a workspace with the file, and the
// canary is there. Then it shows that clawsh, at the level full with nobody to ask, writes the file by no route.
func TestObeyedFiles(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	for _, c := range canaries {
		t.Run(c.file, func(t *testing.T) {
			need.Program(t, c.program)
			dir := t.TempDir()
			w, canary := filepath.Join(dir, "w"), filepath.Join(dir, "canary")
			places := strings.NewReplacer("SPY", filepath.Join(dir, "spy"), "CANARY", canary, "WS", w)
			if err := os.WriteFile(dir+"/spy", []byte("#!/bin/sh\ntouch "+canary+"\n[ $# = 0 ] || exec \"$@\"\n"),
				0o755); err != nil {
				t.Fatal(err)
			}
			os.Mkdir(w, 0o755)
			env := []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
				"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
			if dir := os.Getenv("RUSTUP_HOME"); dir == "" {
				env = append(env, "RUSTUP_HOME="+os.Getenv("HOME")+"/.rustup")
			}
			in := func(script, home string) string {
				cmd := exec.Command("sh", "-c", places.Replace(script))
				cmd.Dir, cmd.Env = w, append(slices.Clone(env), "HOME="+home)
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			home := dir
			if c.home {
				home = w
			}
			in(c.before, home)
			path := filepath.Join(w, c.file)
			os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.WriteFile(path, []byte(places.Replace(c.text)), 0o755); err != nil {
				t.Fatal(err)
			}
			os.Remove(canary)
			out := in(c.run, home)
			if _, err := os.Stat(canary); err != nil {
				t.Fatalf("%s does not obey %s: %s", c.program, c.file, out)
			}
			if _, ok := obeyed.Match(c.file); !ok {
				t.Fatalf("%s is in no row", c.file)
			}
			refusesToWrite(t, c.file)
		})
	}
}

// refusesToWrite tries each route by which a call could write a file; none does.
func refusesToWrite(t *testing.T, file string) {
	dir := t.TempDir()
	home, w := filepath.Join(dir, "home"), filepath.Join(dir, "home", "clawsh-workspace")
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + dir, "TZ=UTC"}
	run := func(script string, in []byte) []byte {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, bytes.NewReader(in)
		out, err := cmd.Output()
		if err != nil && len(out) == 0 {
			t.Fatalf("%s: %v", script, err)
		}
		return out
	}
	run(`mkdir home; clawsh init; cd home/clawsh-workspace; echo evil >seed; mkdir seeds; echo evil >seeds/x
		sed -i 's/^autonomy = .*/autonomy = "full"/' ../.clawsh/config.toml`, nil)
	var in bytes.Buffer
	calls := 0
	add := func(tool string, args map[string]any) {
		calls++
		raw, err := record.Encode(args)
		if err != nil {
			t.Fatal(err)
		}
		line, err := record.Encode(record.ToolCall{V: record.Version, Kind: record.KindToolCall,
			ID: "call-" + strconv.Itoa(calls), ConversationID: "conv-1", Tool: tool, Args: raw})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	for _, name := range []string{file, "sub/" + file} {
		for _, mode := range []string{"overwrite", "create", "append"} {
			add("file_write", map[string]any{"path": name, "content": "evil", "mode": mode})
		}
		add("shell", map[string]any{"command": "mkdir -p sub"})
		for _, command := range []string{"echo evil >F", "echo evil >>F", "f=F; echo evil >$f",
			"echo evil >$(echo F)", "cp seed F", "mv seed F; cp seeds/x seed", "cp -r seeds F", "cat seed | tee F",
			"touch F; sed -i s/x/y/ F", "f=$(echo F); cp seed $f", "ln -s seed F", "ln seed F",
			"python3 -c 'open(\"F\", \"w\")' F", "install seed F", "eval 'cp seed F'",
			"for f in F; do cp seed $f; done"} {
			add("shell", map[string]any{"command": strings.ReplaceAll(command, "F", name)})
		}
		if name == file && slices.Contains(obeyed.Covered(), strings.Split(file, "/")[0]) {
			// What no judge can see, the sandbox holds.
			add("shell", map[string]any{"command": "printf " + name + " | xargs cp seed"})
			add("shell",
				map[string]any{"command": "sh -c 'a=" + name[:2] + "; mkdir -p $(dirname ${a}" + name[2:] +
					"); echo evil >${a}" + name[2:] + "'"})
		}
	}
	out := run("claw-gate | claw-exec", in.Bytes())
	if got := bytes.Count(out, []byte(`"kind":"tool_result"`)); got != calls {
		t.Errorf("%d results for %d calls", got, calls)
	}
	for _, name := range []string{file, "sub/" + file} {
		if _, err := os.Lstat(filepath.Join(w, name)); err == nil {
			for line := range bytes.Lines(out) {
				if bytes.Contains(line, []byte(`"status":"allowed"`)) {
					t.Logf("%.300s", line)
				}
			}
			t.Errorf("%s was written unasked", name)
		}
	}
}

// canary is a program that obeys a file.
type canary struct {
	program, file, text string
	// home tells that the workspace is the home directory, as where workspace_only = false lets tools write there.
	home bool
	// before and run are scripts: what the user has done before, and what the user does.
	before, run string
}

const gitFiles = "git init -q -b main . && echo x >a && git add a && git commit -qm a; "

var canaries = []canary{
	{program: "git", file: ".git/config", text: "[core]\n\tbare = false\n\tfsmonitor = SPY\n", before: gitFiles,
		run: "git status"},
	{program: "git", file: "HEAD", text: "ref: refs/heads/main\n", run: "git status",
		before: "mkdir objects refs; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = WS\\n\\tfsmonitor = SPY\\n' >config"},
	{program: "git", file: ".gitattributes", text: "* filter=own\n", run: "git status",
		before: gitFiles + "git config filter.own.clean SPY; sleep 1; touch a"},
	{program: "git", file: ".gitconfig", text: "[core]\n\tfsmonitor = SPY\n", home: true, before: gitFiles,
		run: "git status"},
	{program: "git", file: ".husky/pre-commit", text: "#!/bin/sh\ntouch CANARY\n",
		before: gitFiles + "git config core.hooksPath .husky",
		run:    "git commit -q --allow-empty -m b"},
	{program: "bash", file: ".bashrc", text: "touch CANARY", home: true, run: "bash -i -c true"},
	{program: "bash", file: ".bash_profile", text: "touch CANARY", home: true, run: "bash -l -c true"},
	{program: "bash", file: ".profile", text: "touch CANARY", home: true, run: "bash -l -c true"},
	{program: "bash", file: ".bash_logout", text: "touch CANARY", home: true, run: "bash -l -c exit"},
	{program: "zsh", file: ".zshenv", text: "touch CANARY", home: true, run: "zsh -c true"},
	{program: "zsh", file: ".zshrc", text: "touch CANARY", home: true, run: "zsh -i -c true"},
	{program: "zsh", file: ".zlogin", text: "touch CANARY", home: true, run: "zsh -l -c true"},
	{program: "fish", file: ".config/fish/config.fish", text: "touch CANARY", home: true, run: "fish -c true"},
	{program: "direnv", file: ".envrc", text: "touch CANARY", run: "direnv export bash",
		before: "mkdir -p ../.config/direnv; printf '[whitelist]\\nprefix = [\"WS\"]\\n' >../.config/direnv/direnv.toml"},
	{program: "vim", file: ".exrc", text: "silent !touch CANARY", before: "echo 'set exrc' >../.vimrc",
		run: "vim -T dumb --not-a-term -c qa! </dev/null"},
	{program: "vim", file: ".vimrc", text: "silent !touch CANARY", home: true,
		run: "vim -T dumb --not-a-term -c qa! </dev/null"},
	{program: "tmux", file: ".tmux.conf", text: "run-shell 'touch CANARY'", home: true,
		run: "tmux -S ../socket new-session -d 'sleep 5'; for i in 1 2 3 4 5 6 7 8 9; do [ -e CANARY ] || sleep 0.1; done; tmux -S ../socket kill-server"},
	{program: "npm", file: ".npmrc", text: "script-shell = SPY\n", run: "npm test",
		before: `echo '{"scripts":{"test":"true"}}' >package.json`},
	{program: "cargo", file: ".cargo/config.toml", text: "[build]\nrustc = \"SPY\"\n",
		run:    "cargo metadata --offline --format-version 1; cargo check --offline",
		before: "mkdir src; echo 'fn main(){}' >src/main.rs; printf '[package]\\nname = \"a\"\\nversion = \"0.1.0\"\\n' >Cargo.toml"},
	{program: "go", file: ".config/go/env", text: "GOFLAGS=-toolexec=SPY\n", home: true,
		run:    "GOCACHE=WS/cache go build -n .",
		before: "echo 'module a' >go.mod; echo 'package a' >a.go"},
	{program: "python3", file: "sitecustomize.py", text: "open('CANARY', 'w')", run: "PYTHONPATH=. python3 -c pass"},
	{program: "python3", file: ".venv/lib/python3/site-packages/x.pth", text: "import os; open('CANARY', 'w')\n",
		run: "python3 -c 'import site; site.addsitedir(\".venv/lib/python3/site-packages\")'"},
	{program: "python3", file: ".pdbrc", text: "open('CANARY', 'w')\n", before: "echo pass >a.py",
		run: "echo q | python3 -m pdb a.py"},
}

// said are rows whose programs are not started here, with where their own documentation says that they obey.
var said = map[string]string{
	".gitmodules": "gitmodules(5)", ".githooks": "githooks(5), core.hooksPath",
	".pre-commit-config.yaml": "pre-commit.com, lefthook.dev",
	".hg":                     "hg help config: .hg/hgrc",
	".jj":                     "manual pages of jj, sl, bzr: settings of a repository",
	".kshrc":                  "ksh(1), tcsh(1), pwsh: about_Profiles",
	".inputrc":                "readline(3)", ".mise.toml": "mise.jdx.dev/hooks.html",
	".autoenv":   "github.com/hyperupcall/autoenv",
	".xprofile":  "systemd.unit(5), XDG autostart",
	".local/bin": "file-hierarchy(7)", ".config/nvim": "nvim: :help init.lua",
	".dir-locals.el":   "Emacs manual, Per-Directory Local Variables",
	".dir-locals-2.el": "the same", ".emacs": "Emacs manual, The Emacs Initialization File",
	".ycm_extra_conf.py": "YouCompleteMe, User Guide",
	".vscode":            "code.visualstudio.com/docs/editor/tasks, runOptions.runOn = folderOpen",
	"*.code-workspace":   "code.visualstudio.com/docs/editor/workspaces",
	".devcontainer":      "containers.dev/implementors/json_reference, initializeCommand",
	".idea":              "jetbrains.com/help/idea, Startup Tasks",
	".zed":               "zed.dev/docs/configuring-zed, lsp binary", ".fleet": "each editor's own manual",
	".config/zed": "each editor's own manual",
	".mcp.json":   "modelcontextprotocol.io: stdio servers are started as programs", "mcp.json": "the same",
	".claude":   "each agent's manual: settings, hooks",
	".windsurf": "each agent's manual: settings, hooks",
	".yarnrc":   "yarnpkg.com/configuration/yarnrc, yarnPath, plugins", ".pnpmfile.cjs": "pnpm.io/pnpmfile",
	"bunfig.toml":    "bun.sh/docs/runtime/bunfig, preload",
	"rust-toolchain": "rust-lang.github.io/rustup/overrides.html, path",
	".mvn":           "maven.apache.org/configure.html, .mvn/extensions.xml", ".sbtopts": "scala-sbt.org, sbt runner",
	".gradle/init.d": "docs.gradle.org, init scripts",
	".bundle":        "bundle-config(1), plugins", ".gemrc": "irb(1), gem environment",
	".pip":      "pip.pypa.io, index-url",
	".rprofile": "R: ?Startup, ghci, iex: manuals",
	".psqlrc":   "psql(1), sqlite3(1)", ".gdbinit": "gdb manual, auto-load",
	".ssh": "ssh_config(5), Match exec, ProxyCommand", ".netrc": "curl(1), wget(1)",
	".rhosts": "rcmd(3), procmail(1)",
	".gnupg":  "kubernetes.io: exec credential plugins; docker: credHelpers",
}

// TestEveryRowIsShown: a row has a canary or says where it is documented.
func TestEveryRowIsShown(t *testing.T) {
	t.Parallel()
	for _, row := range obeyed.Rows() {
		shown := said[row.Names[0]] != "" || slices.ContainsFunc(canaries, func(c canary) bool {
			r, ok := obeyed.Match(c.file)
			return ok && r.Names[0] == row.Names[0]
		})
		if !shown {
			t.Errorf("the row of %s is shown by nothing", row.Names[0])
		}
	}
}
