package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"clawsh/lib/record"
	"clawsh/test/need"
)

// shellDesk is a shell on a terminal, with the completions where make install puts them, in a home with hostile names.
type shellDesk struct {
	*screen
	t      *testing.T
	master *os.File
	n      int
}

// interactive is how each shell is started; READY is its prompt.
var interactive = map[string]func(t *testing.T, h *home, share string) []string{
	"bash": func(t *testing.T, h *home, share string) []string {
		rc := keepFile(t, h.dir+"/bashrc",
			"PS1='READY> '\n. /usr/share/bash-completion/bash_completion\nset +o history\n")
		keepFile(t, h.dir+"/.inputrc",
			"set show-all-if-ambiguous on\nset page-completions off\nset completion-query-items 0\nset enable-bracketed-paste off\nset bell-style none\n")
		return []string{"bash", "--noprofile", "--rcfile", rc, "-i"}
	},
	// zsh's usual binding of TAB runs $(…) by itself
	"zsh": func(t *testing.T, h *home, share string) []string {
		keepFile(t, h.dir+"/.zshrc",
			"PS1='READY> '\nunsetopt zle_bracketed_paste beep 2>/dev/null\nLISTMAX=1000\nfpath=("+share+
				"/zsh/site-functions $fpath)\nautoload -U compinit\ncompinit -u -D\n"+
				"bindkey '^I' complete-word\n")
		return []string{"zsh", "-d", "-i"}
	},
	"fish": func(t *testing.T, h *home, share string) []string {
		keepFile(t, h.dir+"/.config/fish/config.fish",
			"function fish_prompt; echo -n 'READY> '; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n")
		return []string{"fish", "-i"}
	},
}

func keepFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func sitDown(t *testing.T, shell string, h *home, share string) *shellDesk {
	t.Helper()
	argv := interactive[shell](t, h, share)
	// Without it, fish makes completions from all manuals in a process that outlives the test.
	if err := os.MkdirAll(h.dir+"/.local/share/fish/generated_completions", 0o700); err != nil {
		t.Fatal(err)
	}
	master, slave, err := openPTY()
	if err != nil {
		need.Skip(t, need.Terminal, "%v", err)
	}
	if err := resize(slave, "60 200"); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Dir = h.dir
	cmd.Env = append(h.env, "TERM=xterm", "LANG=C.UTF-8", "XDG_DATA_DIRS="+share+":/usr/share")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	d := &shellDesk{screen: newScreen(master), t: t, master: master}
	t.Cleanup(func() {
		master.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	d.see("READY> ")
	return d
}

func (d *shellDesk) see(text string) {
	d.t.Helper()
	if !d.expect(text) {
		d.t.Fatalf("the terminal never showed %q; it showed:\n%q", text, d.text())
	}
}

func (d *shellDesk) press(text string) { d.master.WriteString(text) }

// clear throws away what was typed and waits until the shell is done with all of it.
func (d *shellDesk) clear() {
	d.t.Helper()
	d.n++
	d.press(fmt.Sprintf("\x15echo set''tled%d\n", d.n))
	d.see(fmt.Sprintf("settled%d", d.n))
	d.see("READY> ")
}

// badNames are names that do something, or garble the screen, where somebody takes them for more than names. PWNED is a
// file.
func badNames() []string {
	var names []string
	for _, s := range []string{"$(touch PWNED)", "`touch PWNED`", ";touch PWNED;", "|touch PWNED", "&touch PWNED&",
		"\ntouch PWNED\n", "\rtouch PWNED\r", "(touch PWNED)",
		"<(touch PWNED)", ">PWNED", "';touch PWNED;'", "\";touch PWNED;\"", "\\$(touch PWNED)", "\"$(touch PWNED)\"",
		"'$(touch PWNED)'", "${x:=$(touch PWNED)}", "{a,$(touch PWNED)}",
		"$'\\n'touch PWNED", "!!", "~", "*", "?", "[a]", "#", "%F{red}", "=ls", "-rf", "a b", "a\tb", ":36",
		"_activeHelp_ x", "",
		"\x1b]0;pwned\x07", "\x1b[7mpwned", "\x1b[2Jpwned", "\u009b7mpwned", "\x07pwned", "\bpwned", "\u202epwned",
		"\u200bpwned"} {
		names = append(names, "conv-"+s, s)
	}
	return names
}

// namedHome is a home in which others have chosen names: of conversations with their titles, trusted directories and
// receipts.
func namedHome(t *testing.T) *home {
	h := newHome(t)
	var records strings.Builder
	for i, name := range badNames() {
		if name == "" {
			name = "conv-empty"
		}
		line, err := record.Encode(record.User{V: 1, Kind: "user", ConversationID: name, ID: fmt.Sprintf("msg-%d", i),
			Content: "title " + name})
		if err != nil {
			t.Fatal(err)
		}
		records.Write(append(line, '\n'))
	}
	cmd := exec.Command(bin + "/claw-mem")
	cmd.Env, cmd.Stdin = h.env, strings.NewReader(records.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	trust := ""
	for i, name := range badNames() {
		path, err := record.Encode("/srv/" + name) // a text of JSON is one of TOML
		if err != nil {
			t.Fatal(err)
		}
		trust += fmt.Sprintf("[[workspaces]]\npath = %s\ndirectory = \"1:%d\"\ntrusted_at = \"2026-05-12T14:00:00.000Z\"\n", path, i)
	}
	keepFile(t, h.dir+"/.clawsh/workspaces.toml", trust)
	return h
}

// shells runs a test in each shell.
func shells(t *testing.T, run func(t *testing.T, shell string)) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			need.Program(t, shell)
			if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil && shell == "bash" {
				need.Skip(t, need.BashCompletion, "%v", err)
			}
			t.Parallel()
			run(t, shell)
		})
	}
}

// TestTab presses TAB in real shells, and runs what comes of it: values of each kind, and what they are.
func TestTab(t *testing.T) {
	t.Parallel()
	installed := share(t, "2026-05-12")
	shells(t, func(t *testing.T, shell string) {
		h := newHome(t)
		d := sitDown(t, shell, h, installed)
		for _, c := range [][2]string{
			{"clawsh tool sho\tti\t\n", "parameters: "},                    // a command and a tool
			{"clawsh provider test lo\t\n", "local answered in"},           // a provider
			{"clawsh session show con\t\n", "hello, what files are here?"}, // a conversation
			{"clawsh receipt show rec\t\n", "receipt_hash"},                // a receipt
			{"clawsh --agent def\t --model mo\t -n hi\n", "built-in mock"}, // an agent and a model
			{"clawsh memory search --ro\tass\t hello\n", "hello"},          // flags and values of a stage
			{"claw-receipt verify --req\the\t\n", "head agrees"},           // a stage by itself
			{"clawsh doc\t --help\n", "check this installation"},
		} {
			d.press(c[0])
			d.see("READY> ")
			if !strings.Contains(d.text(), c[1]) {
				t.Errorf("%q does not lead to %q; the terminal shows\n%s", c[0], c[1], d.text())
			}
			d.clear()
		}
		for _, c := range [][2]string{
			{"clawsh tool show file_\t\t", "List a directory"},
			{"clawsh provider test \t\t", "openai-compatible local-model"},
			{"clawsh rec\t \t\t", "list receipts"}, {"clawsh usage --by \t\t", "conversation"},
			{"clawsh --model \t\t", "of the provider local"},
		} {
			d.press(c[0])
			d.see(c[1])
			d.clear()
		}
	})
}

// TestTabInAHostileHome: names that others have chosen run nothing, neither when they are offered nor when they are
// taken, and show nothing but themselves; nor does what was typed run.
func TestTabInAHostileHome(t *testing.T) {
	t.Parallel()
	installed := share(t, "2026-05-12")
	shells(t, func(t *testing.T, shell string) {
		h := namedHome(t)
		d := sitDown(t, shell, h, installed)
		for _, line := range []string{"clawsh session show ", "clawsh session show conv-", "clawsh session delete ",
			"clawsh --conversation ", "clawsh memory search --conversation ",
			"clawsh workspace forget ", "clawsh workspace forget /srv/", "claw-mem show ", "claw-mem show conv-"} {
			d.press(line + "\t\t\t\t") // shells take values in turn
			d.clear()
		}
		for i, name := range badNames() {
			// what is typed is shown
			if i%2 == 0 || strings.Contains(name, "pwned") || strings.ContainsAny(name, "\n\r\t") {
				continue
			}
			for _, before := range []string{"clawsh session show ", "clawsh -m \"x"} {
				d.press(before + name + "\t\t")
				d.clear()
			}
		}
		d.press("clawsh tool show ti\t\n") // it still works
		d.see("parameters: ")
		if left, _ := filepath.Glob(h.dir + "/**PWNED*"); len(left) > 0 {
			t.Errorf("something ran: %v", left)
		}
		for _, raw := range []string{"\x1b]0;pwned", "\x1b[7mpwned", "\x1b[2Jpwned", "\u009b7mpwned", "\x07pwned",
			"\bpwned", "\u202epwned", "\u200bpwned"} {
			if strings.Contains(d.text(), raw) {
				t.Errorf("the terminal got %q", raw)
			}
		}
	})
}

// TestScriptsEvaluateNothing: no completion script hands what was typed to the shell as code.
func TestScriptsEvaluateNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, program := range binaries(t) {
		for _, shell := range []string{"bash", "zsh", "fish"} {
			out, errOut, code := h.run(t, program, "completion", shell)
			for line := range strings.Lines(out) {
				if code, _, _ := strings.Cut(line, "#"); strings.Contains(code, "eval ") &&
					!strings.Contains(code, "debug") {
					t.Errorf("%s completion %s: %s", program, shell, line)
				}
			}
			if code != 0 || len(out) < 1000 {
				t.Errorf("%s completion %s: exit %d: %s", program, shell, code, errOut)
			}
		}
	}
}
