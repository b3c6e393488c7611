package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// places is a scratch home with the given configuration.
func places(t testing.TB, text string) Paths {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "CLAWSH_HOME": filepath.Join(dir, ".clawsh"),
		"OPS": filepath.Join(dir, "ops")}
	p, err := Locate("", func(n string) string { return env[n] })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"autonomy", "[security]\nautonomy = \"godmode\"",
			`config.toml:2:1: security.autonomy "godmode": want readonly, supervised or full`},
		{"unknown key", "\nworkspce_dir = \"~/x\"",
			`config.toml:2:1: workspce_dir is not a known key: did you mean workspace_dir?`},
		{"unknown in table", "[limits]\nmax_rounds = 1",
			`config.toml:2:1: limits.max_rounds is not a known key: did you mean max_tool_rounds?`},
		{"unknown table", "[secrity]\nautonomy = \"full\"",
			`config.toml:1:2: secrity is not a known key: did you mean security?`},
		{"other case", "Default_Provider = \"local\"",
			`Default_Provider is not a known key: did you mean default_provider?`},
		{"case in table", "[Security]\nautonomy = \"full\"", `Security is not a known key: did you mean security?`},
		{"quoted dot", "\"security.autonomy\" = \"readonly\"", `config.toml:1:1: `},
		{"quoted dot in table", "[security]\n\"audit_log.x\" = 1", `config.toml:2:1: `},
		{"memory in the workspace", "[memory]\npath = \"~/clawsh-workspace/m\"", `memory.path`},
		{"password in a domain", "[security]\nallowed_domains = [\"https://u:sk-secret@x\"]",
			`allowed_domains (not shown)`},
		{"types", "workspace_dir = 5\n[limits]\nmax_tool_rounds = \"x\"\n[security]\nautonomy = true",
			`5:12: security.autonomy: want a string`},
		{"inline", "security = { autonomyy = \"full\" }",
			`security.autonomyy is not a known key: did you mean autonomy?`},
		{"no such provider", "default_provider = \"nobody\"",
			`config.toml:1:1: default_provider "nobody": there is no`},
		{"kind", "[providers.models.x]\nkind = \"magic\"",
			`2:1: providers.models.x.kind "magic": want mock, openai-compatible or reliable`},
		{"no kind", "[providers.models.x]\nmodel = \"m\"", `1:2: providers.models.x.kind "": want`},
		{"url", "[providers.models.x]\nkind = \"openai-compatible\"\nbase_url = \"localhost:1\"",
			`3:1: providers.models.x.base_url`},
		{"url with password",
			"[providers.models.x]\nkind = \"openai-compatible\"\nbase_url = \"http://u:sk-secret@h/v1\"",
			`must not contain a user or password`},
		{"key in the file", "[providers.models.x]\nkind = \"mock\"\napi_key = \"sk-secret\"",
			`3:1: providers.models.x.api_key is not a known key: API keys come from the environment`},
		{"key as variable", "[providers.models.x]\nkind = \"mock\"\napi_key_env = \"sk-secret\"",
			`want the name of an environment variable, not the key itself`},
		{"reliable of nothing", "[providers.models.x]\nkind = \"reliable\"", `providers.models.x.providers is empty`},
		{"reliable of strangers", "[providers.models.x]\nkind = \"reliable\"\nproviders = [\"y\"]",
			`"y": there is no such provider`},
		{"reliable of itself",
			"[providers.models.x]\nkind = \"reliable\"\nproviders = [\"y\"]\n[providers.models.y]\nkind = \"reliable\"\nproviders = [\"local\", \"x\"]", `leads back to x itself`},
		{"tools", "[channels.cli]\ntools_allow = [\"launch\"]",
			`2:1: channels.cli.tools_allow "launch": want names among time`},
		{"domain", "[security]\nallowed_domains = [\"https://example.com/\"]",
			`security.allowed_domains "https://example.com/": want a host name`},
		{"command path", "[security]\nallowed_commands = [\"/bin/ls\"]",
			`security.allowed_commands "/bin/ls": want a program's plain name`},
		{"command args", "[security]\nforbidden_commands = [\"rm -rf\"]", `want a program's plain name`},
		{"negative limit", "[limits]\nmax_tool_rounds = -1", `2:1: limits.max_tool_rounds -1: want 0 to 1000`},
		{"zero timeout", "[limits]\nshell_timeout_s = 0.0", `limits.shell_timeout_s 0: want seconds`},
		{"not a number", "[limits]\nshell_timeout_s = nan", `limits.shell_timeout_s`},
		{"wrong type", "[limits]\nmax_tool_rounds = \"five\"", `config.toml:2:`},
		{"variable", "workspace_dir = \"$NOWHERE/x\"",
			`1:1: workspace_dir "$NOWHERE/x": the variable $NOWHERE is not set`},
		{"relative", "workspace_dir = \"work\"", `want an absolute path`},
		{"other home", "workspace_dir = \"~root/x\"", `not ~USER`},
		{"root", "workspace_dir = \"/\"", `tools could change all files`},
		{"home", "workspace_dir = \"~\"", `tools could change all files`},
		{"own home", "workspace_dir = \"$CLAWSH_HOME/ws\"", `must not contain each other`},
		{"around home", "workspace_dir = \"$HOME/..\"", `contain`},
		{"audit off", "[security]\naudit_log = false", `no call is allowed without an audit line`},
		{"receipts off", "[receipts]\nenabled = false", `every call leaves a receipt`},
		{"backend", "[memory]\nbackend = \"redis\"", `memory.backend "redis": want sqlite`},
		{"agent id", "[agents.\"../x\"]\nmodel = \"m\"", `want lower-case letters`},
		{"syntax", "a = \nb = 1", `config.toml:1:`},
		{"twice", "default_model = \"a\"\ndefault_model = \"b\"", `config.toml:2:`},
		{"unclosed", "[security\nautonomy = 1", `config.toml:1:`},
		{"binary", "\x00\xff", `config.toml:1:1: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(places(t, c.text))
			var p *Problems
			if !errors.As(err, &p) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("a secret is in the message: %v", err)
			}
		})
	}
}

func TestAllProblemsInOnePass(t *testing.T) {
	_, err := Load(places(t,
		"bogus = 1\ndefault_provider = \"x\"\n[security]\nautonomy = \"y\"\nallowed_domains = [\"A\"]\n[limits]\nmax_tool_rounds = -1\n"))
	var p *Problems
	if !errors.As(err, &p) || len(p.List) != 5 || p.ExitCode() != 78 {
		t.Fatalf("got %v", err)
	}
	for i := 1; i < len(p.List); i++ {
		if p.List[i].Line < p.List[i-1].Line {
			t.Errorf("not in the order of the file: %v", err)
		}
	}
}

func TestDefaultsAndTemplateAgree(t *testing.T) {
	p := places(t, string(Template()))
	fromTemplate, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(p.File)
	fromNothing, err := Load(p)
	if err != nil || fromNothing.Found() || !fromTemplate.Found() {
		t.Fatal(err)
	}
	fromTemplate.found, fromTemplate.stamps = false, stamps{}
	if fromTemplate.Limits.MaxToolRounds != 25 || fromNothing.Limits.MaxToolRounds != 5 { // one of the two that differ
		t.Errorf("max_tool_rounds %d in the template, %d without", fromTemplate.Limits.MaxToolRounds,
			fromNothing.Limits.MaxToolRounds)
	}
	if fromTemplate.Limits.ShellTimeoutS != 60 || fromNothing.Limits.ShellTimeoutS != 15 {
		t.Errorf("shell_timeout_s %g in the template, %g without", fromTemplate.Limits.ShellTimeoutS,
			fromNothing.Limits.ShellTimeoutS)
	}
	fromTemplate.Limits.ShellTimeoutS = fromNothing.Limits.ShellTimeoutS
	fromTemplate.Limits.MaxToolRounds = fromNothing.Limits.MaxToolRounds
	if !reflect.DeepEqual(fromTemplate, fromNothing) {
		t.Errorf("template %+v\nnothing %+v", fromTemplate, fromNothing)
	}
	if err := os.WriteFile(p.File, []byte(fromNothing.DisplayTOML()), 0o600); err != nil {
		t.Fatal(err)
	}
	fromDump, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	fromDump.found, fromDump.stamps = false, stamps{}
	if !reflect.DeepEqual(fromDump, fromNothing) {
		t.Errorf("dump %+v\nnothing %+v", fromDump, fromNothing)
	}
}

func TestExpands(t *testing.T) {
	p := places(t,
		"workspace_dir = \"$OPS/ws\"\n[memory]\npath = \"~/m.sqlite\"\n[agents.ops]\nsoul = \"${OPS}/soul.md\"\n")
	c, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(p.Home)
	if c.WorkspaceDir != home+"/ops/ws" || c.Memory.Path != home+"/m.sqlite" ||
		c.Agents["ops"].Soul != home+"/ops/soul.md" {
		t.Errorf("%+v", c)
	}
}

func TestFileThatOthersMayWrite(t *testing.T) {
	p := places(t, "")
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		os.Chmod(p.File, mode)
		if _, err := Load(p); err == nil || !strings.Contains(err.Error(), "writable by others") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	os.Chmod(p.Home, 0o770)
	if err := CheckHome(p, nil); err == nil {
		t.Error("a home that others may write to was accepted")
	}
}

func TestExplicitFileMustExist(t *testing.T) {
	if _, err := Load(Paths{Home: t.TempDir(), File: "/nonexistent.toml", Explicit: true,
		getenv: os.Getenv}); err == nil {
		t.Error("a named file that is missing was taken for the defaults")
	}
}

func TestEstopFailsClosed(t *testing.T) {
	dir := t.TempDir()
	if on, _ := Estop(dir); on {
		t.Error("on without a file")
	}
	os.Symlink("/nonexistent", dir+"/ESTOP")
	if on, _ := Estop(dir); !on {
		t.Error("off with a dangling link")
	}
	os.WriteFile(dir+"/file", nil, 0o600)
	if on, _ := Estop(dir + "/file"); !on {
		t.Error("off where nothing can be examined")
	}
}

func TestSoul(t *testing.T) {
	p := places(t, "")
	c, err := Load(p)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.Soul("default"); err != nil || s != DefaultSoul {
		t.Errorf("%q, %v", s, err)
	}
	for _, bad := range []string{"nobody", "../default", "", "A"} {
		if _, err := c.Soul(bad); err == nil {
			t.Errorf("there is an agent %q", bad)
		}
	}
	os.MkdirAll(p.Home+"/agents/ops", 0o700)
	os.WriteFile(p.Home+"/agents/ops/soul.md", []byte("\xff"), 0o600)
	if _, err := c.Soul("ops"); err == nil {
		t.Error("a soul that is no text")
	}
}

func TestEditKeepsEverythingElse(t *testing.T) {
	for _, c := range []struct{ src, key, value, want string }{
		{"a = 1 # one\nb = 2\n", "a", "x", "a = \"x\" # one\nb = 2\n"},
		{"[s]\nk = [\n 1, # c\n 2,\n]\nz = 1\n", "s.k", "x", "[s]\nk = \"x\"\nz = 1\n"},
		{"[s]\nk = \"a # b\" # c\n", "s.k", "x", "[s]\nk = \"x\" # c\n"},
		{"[s]\nk = '''\nlong\n''' # c\n", "s.k", "x", "[s]\nk = \"x\" # c\n"},
		{"[s]\nk = 1\n\n[t]\nk = 2\n", "s.n", "x", "[s]\nk = 1\nn = \"x\"\n\n[t]\nk = 2\n"},
		{"[s]\n[t]\n", "s.n", "x", "[s]\nn = \"x\"\n[t]\n"},
		{"a = 1", "s.n", "x\"y\\z", "a = 1\n\n[s]\nn = \"x\\\"y\\\\z\"\n"},
		{"[s]\nk = 1", "s.n", "x", "[s]\nk = 1\nn = \"x\"\n"},
		{"# only a comment\n", "a", "x", "a = \"x\"\n# only a comment\n"},
		{"[a.b]\nc = 1", "a.b.c", "x", "[a.b]\nc = \"x\""},
	} {
		got, err := Edit([]byte(c.src), []Setting{{Key: c.key, Value: c.value}})
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q, want %q, %v", c.src, got, c.want, err)
		}
	}
	if _, err := Edit([]byte("a = "), []Setting{{Key: "b", Value: "x"}}); err == nil {
		t.Error("a file that is no TOML was edited")
	}
}

// FuzzLoad checks that every problem has a place, and that no message holds a planted secret.
func FuzzLoad(f *testing.F) {
	f.Add(string(Template()))
	for _, s := range []string{"[a\n", "security = 3", "[[providers]]", "default_model = \"\"\"",
		"[providers.models.x]\nkind=1\nbase_url=[]", "a.b.c = {d={e=1}}"} {
		f.Add(s)
	}
	dir := f.TempDir()
	env := map[string]string{"HOME": dir}
	f.Fuzz(func(t *testing.T, text string) {
		const secret = "sk-PLANTED-9876543210"
		p, _ := Locate("", func(n string) string { return env[n] })
		for _, data := range []string{text, text + "\n[providers.models.zz]\nkind = \"mock\"\napi_key = \"" + secret +
			"\"\napi_key_env = \"" + secret + "\"\n"} {
			_, err := load([]byte(data), true, p)
			if err == nil {
				continue
			}
			var probs *Problems
			if !errors.As(err, &probs) || len(probs.List) == 0 {
				t.Fatalf("no problems but an error: %v", err)
			}
			for _, x := range probs.List {
				if x.Line < 1 || x.Column < 1 {
					t.Fatalf("no place: %+v", x)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the secret is in %v", err)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	p := places(b, string(Template()))
	for b.Loop() {
		if _, err := Load(p); err != nil {
			b.Fatal(err)
		}
	}
}
