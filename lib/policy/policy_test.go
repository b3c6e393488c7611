package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// policyIn makes a policy over a scratch workspace that holds a file, ways out of it, and things that are protected.
func policyIn(t testing.TB, autonomy string, change func(*config.Config)) *Policy {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := dir + "/ws"
	for _, d := range []string{ws + "/sub/deep", ws + "/.git/hooks", dir + "/home/keys", dir + "/wsx/d",
		dir + "/secret"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(ws+"/a.txt", nil, 0o600)
	for link, to := range map[string]string{"aside": dir + "/wsx/d", "sub/pw": "/etc/passwd", "out": dir,
		"passwd": "/etc/passwd", "inside": "sub", "dangling": dir + "/not-yet", "loop": "loop", "home": dir + "/home"} {
		if err := os.Symlink(to, ws+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.Default(dir + "/home")
	cfg.WorkspaceDir, cfg.Security.Autonomy = ws, autonomy
	cfg.Workspace = config.Workspace{} // not the one of who runs the tests
	cfg.Security.ForbiddenPaths = []string{"/etc", dir + "/secret"}
	if change != nil {
		change(cfg)
	}
	p, err := New(cfg, OS{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type wanted struct {
	tool, args string
	outcome    Outcome
	rule       string
}

func (w wanted) check(t *testing.T, p *Policy) {
	t.Helper()
	v := p.Decide(Call{Tool: w.tool, Args: record.Raw(w.args)})
	if v.Outcome != w.outcome || v.Rule != w.rule {
		t.Errorf("%s %.120s: %s by %s (%s), want %s by %s", w.tool, w.args, v.Outcome, v.Rule, v.Reason, w.outcome,
			w.rule)
	}
	if v.Reason == "" || v.Risk == "" {
		t.Errorf("%s %.120s: no reason or no risk: %+v", w.tool, w.args, v)
	}
}

func TestFilesAndTools(t *testing.T) {
	p := policyIn(t, "supervised", nil)
	for _, w := range []wanted{
		{"time", `{}`, Allow, "tool.low"},
		{"memory_search", `{"query":"x"}`, Allow, "tool.low"},
		{"memory_search",
			`{"query":"x","limit":3,"role":"tool","tool":"shell","since":"7d","until":"1h","conversation_id":"c"}`,
			Allow, "tool.low"},
		{"ask_user", `{"question":"x"}`, Allow, "tool.low"},
		{"file_list", `{}`, Allow, "path.workspace"},
		{"file_list", `{"path":".","recursive":true}`, Allow, "path.workspace"},
		{"file_read", `{"path":"a.txt"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"sub/../a.txt"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"inside/deep"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"not/there/yet"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"a.txt/below-a-file"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"inside/../a.txt"}`, Allow, "path.workspace"},
		{"file_read", `{"path":".git/config"}`, Allow, "path.workspace"},
		{"file_write", `{"path":".gitignore","content":"x"}`, Ask, "path.workspace"},
		{"file_write", `{"path":"new/b.txt","content":""}`, Ask, "path.workspace"},

		{"file_read", `{"path":"/etc/passwd"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"/usr/bin/env"}`, Deny, "path.outside"},
		{"file_read", `{"path":".."}`, Deny, "path.outside"},
		{"file_read", `{"path":"../wsx/f"}`, Deny, "path.outside"},
		{"file_read", `{"path":"sub/../../wsx"}`, Deny, "path.outside"},
		{"file_read", `{"path":"../secret/f"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"../home/keys/permit.key"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"passwd"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"out/wsx/f"}`, Deny, "path.outside"},
		{"file_read", `{"path":"out"}`, Deny, "path.outside"},
		{"file_read", `{"path":"home/keys"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"aside/../f"}`, Deny, "path.outside"},
		{"file_read", `{"path":"aside/../../ws/../secret/f"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"sub/pw/.."}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"new/../a.txt"}`, Deny, "path.invalid"},
		{"file_read", `{"path":"../SECRET/f"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"passwd/x"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"dangling"}`, Deny, "path.invalid"},
		{"file_write", `{"path":"dangling","content":"x"}`, Deny, "path.invalid"},
		{"file_read", `{"path":"loop"}`, Deny, "path.invalid"},
		{"file_read", `{"path":"~/x"}`, Deny, "path.outside"},
		{"file_read", `{"path":"~root"}`, Deny, "path.outside"},
		{"file_read", `{"path":""}`, Deny, "path.invalid"},
		{"file_read", `{"path":"a\u0000b"}`, Deny, "path.invalid"},
		{"file_read", `{"path":"a\nb"}`, Deny, "path.invalid"},
		{"file_read", `{"path":"a\u202eb"}`, Deny, "path.invalid"},
		{"file_write", `{"path":".git/hooks/pre-commit","content":"x"}`, Deny, "path.protected"},
		{"file_write", `{"path":".git/config","content":"x"}`, Deny, "path.protected"},
		{"file_write", `{"path":".GIT/Hooks/x","content":"x"}`, Deny, "path.protected"},
		{"file_write", `{"path":"sub/.git/config","content":"x"}`, Deny, "path.protected"},
		{"file_write", `{"path":".git","content":"gitdir: elsewhere"}`, Deny, "path.protected"},

		{"file_edit", `{"path":"a.txt","edits":[{"old":"a","new":"b"}]}`, Ask, "path.workspace"},
		{"file_edit", `{"path":"../wsx/f","edits":[{"old":"a","new":"b"}]}`, Deny, "path.outside"},
		{"file_edit", `{"path":"/etc/passwd","edits":[{"old":"a","new":"b"}]}`, Deny, "path.forbidden"},
		{"file_edit", `{"path":"out/wsx/f","edits":[{"old":"a","new":"b"}]}`, Deny, "path.outside"},
		{"file_edit", `{"path":"passwd","edits":[{"old":"a","new":"b"}]}`, Deny, "path.forbidden"},
		{"file_edit", `{"path":"../home/config.toml","edits":[{"old":"a","new":"b"}]}`, Deny, "path.forbidden"},
		{"file_edit", `{"path":".git/config","edits":[{"old":"a","new":"b"}]}`, Deny, "path.protected"},
		{"file_edit", `{"path":"dangling","edits":[{"old":"a","new":"b"}]}`, Deny, "path.invalid"},
		{"file_edit", `{"path":"","edits":[{"old":"a","new":"b"}]}`, Deny, "path.invalid"},
		{"file_edit", `{"path":"a.txt"}`, Deny, "args.invalid"},
		{"file_edit", `{"path":"a.txt","edits":[]}`, Deny, "args.invalid"},
		{"file_edit", `{"path":"a.txt","edits":[{"old":"a"}]}`, Deny, "args.invalid"},
		{"file_edit", `{"path":"a.txt","edits":[{"old":"a","new":"b","Old":"c"}]}`, Deny, "args.invalid"},
		{"file_edit", `{"path":"result:0123456789","edits":[{"old":"a","new":"b"}]}`, Ask, "path.workspace"},
		{"file_search", `{"pattern":"x"}`, Allow, "path.workspace"},
		{"file_search", `{"pattern":"x","path":"a.txt"}`, Allow, "path.workspace"},
		{"file_search", `{"pattern":"x","path":".."}`, Deny, "path.outside"},
		{"file_search", `{"pattern":"x","path":"/etc"}`, Deny, "path.forbidden"},
		{"file_search", `{"pattern":"x","path":"out"}`, Deny, "path.outside"},
		{"file_search", `{"pattern":"x","path":"home/keys"}`, Deny, "path.forbidden"},
		{"file_search", `{"path":"a.txt"}`, Deny, "args.invalid"},
		{"file_search", `{"pattern":"x","root":"/"}`, Deny, "args.invalid"},
		{"file_search", `{"pattern":"x","path":"result:0123456789"}`, Allow, "path.result"},
		{"file_read", `{"path":"result:0123456789","from_line":3}`, Allow, "path.result"},
		{"file_read", `{"path":"result:../../keys"}`, Deny, "args.invalid"},
		{"file_read", `{"path":"result:"}`, Deny, "args.invalid"},

		{"launch", `{}`, Deny, "tool.unknown"},
		{"", `{}`, Deny, "tool.unknown"},
		{"Time", `{}`, Deny, "tool.unknown"},
		{"time", ``, Deny, "args.invalid"},
		{"time", `null`, Deny, "args.invalid"},
		{"time", `[]`, Deny, "args.invalid"},
		{"time", `"{}"`, Deny, "args.invalid"},
		{"time", `{"x":1}`, Deny, "args.invalid"},
		{"file_read", `{}`, Deny, "args.invalid"},
		{"file_read", `{"Path":"a.txt"}`, Deny, "args.invalid"},
		{"file_read", `{"path":"a.txt","path":"/etc/passwd"}`, Deny, "args.invalid"},
		{"file_read", `{"path":["a.txt"]}`, Deny, "args.invalid"},
		{"file_read", `{"path":"a.txt","limit":9007199254740993}`, Deny, "args.invalid"},
		{"file_read", `{"path":null}`, Deny, "args.invalid"},
		{"file_write", `{"path":"a.txt"}`, Deny, "args.invalid"},
		{"file_write", `{"path":"a.txt","content":"","mode":"execute"}`, Deny, "args.invalid"},
		{"shell", `{}`, Deny, "args.invalid"},
		{"shell", `{"command":["ls"]}`, Deny, "args.invalid"},
		{"http", `{"url":"https://example.com/","method":"POST"}`, Deny, "args.invalid"},
		{"memory_search", `{}`, Deny, "args.invalid"},
		{"memory_search", `{"query":"x","provider":"p"}`, Deny, "args.invalid"},
		{"memory_search", `{"query":"x","since":7}`, Deny, "args.invalid"},
	} {
		w.check(t, p)
	}
}

func TestLevels(t *testing.T) {
	write := `{"path":"b","content":""}`
	for _, c := range []struct {
		autonomy string
		wanted
	}{
		{"readonly", wanted{"file_read", `{"path":"a.txt"}`, Allow, "path.workspace"}},
		{"readonly", wanted{"file_write", write, Deny, "autonomy.readonly"}},
		{"readonly", wanted{"shell", `{"command":"ls"}`, Deny, "autonomy.readonly"}},
		{"readonly", wanted{"shell", `{"command":" pwd "}`, Allow, "command.harmless"}},
		{"supervised", wanted{"shell", `{"command":"pwd"}`, Allow, "command.harmless"}},
		{"readonly", wanted{"shell", `{"command":"pwd > x"}`, Deny, "autonomy.readonly"}},
		{"readonly", wanted{"shell", `{"command":"rm x"}`, Deny, "command.forbidden"}},
		{"readonly", wanted{"shell", `{"command":"pwd -P"}`, Deny, "autonomy.readonly"}},
		{"readonly", wanted{"shell", `{"command":"pwd; ls"}`, Deny, "autonomy.readonly"}},
		{"supervised", wanted{"shell", `{"command":"ls"}`, Ask, "command.allowlist"}},
		{"supervised", wanted{"shell", `{"command":"make"}`, Deny, "command.unlisted"}},
		{"supervised", wanted{"shell", `{"command":"ls > x"}`, Ask, "command.allowlist"}},
		{"full", wanted{"file_write", write, Allow, "path.workspace"}},
		{"full", wanted{"shell", `{"command":"ls"}`, Allow, "command.allowlist"}},
		{"full", wanted{"shell", `{"command":"make"}`, Allow, "command.unlisted"}},
		{"full", wanted{"shell", `{"command":"rm x"}`, Deny, "command.forbidden"}},
		{"full", wanted{"file_read", `{"path":"/etc/passwd"}`, Deny, "path.forbidden"}},
		{"full", wanted{"file_read", `{"path":"/usr"}`, Deny, "path.outside"}},
		{"full", wanted{"shell", `{"command":"touch /usr/x"}`, Deny, "path.outside"}},
		{"godmode", wanted{"file_write", write, Deny, "path.workspace"}},
		{"", wanted{"shell", `{"command":"ls"}`, Deny, "command.allowlist"}},
	} {
		c.check(t, policyIn(t, c.autonomy, nil))
	}
	open := policyIn(t, "full", func(c *config.Config) { c.Security.WorkspaceOnly = false })
	for _, w := range []wanted{
		{"file_read", `{"path":"/usr"}`, Allow, "path.open"},
		{"file_read", `{"path":"/etc/passwd"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"passwd"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"../home/keys"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"out/wsx/f"}`, Allow, "path.open"},
		{"file_write", `{"path":"/srv/x/.git/hooks/y","content":""}`, Deny, "path.protected"},
		{"shell", `{"command":"cat ../home/x"}`, Deny, "path.forbidden"},
	} {
		w.check(t, open)
	}
}

// What belongs to clawsh is out of reach wherever the configuration keeps it, also in the workspace and at the level
// full.
func TestOwnFiles(t *testing.T) {
	p := policyIn(t, "full", func(c *config.Config) {
		c.Security.WorkspaceOnly, c.Security.ForbiddenPaths = false, nil
		c.File, c.Receipts.Path, c.Memory.Path = c.WorkspaceDir+"/config.toml", c.WorkspaceDir+"/sub/receipts",
			c.WorkspaceDir+"/m"
	})
	for _, path := range []string{"config.toml", "sub/receipts", "inside/receipts", "m", "m-wal", "../home/ESTOP",
		"home/ESTOP"} {
		wanted{"file_write", `{"path":"` + path + `","content":""}`, Deny, "path.forbidden"}.check(t, p)
	}
	wanted{"file_write", `{"path":"mm","content":""}`, Allow, "path.workspace"}.check(t, p)
}

// The workspace may be named by a link, and forbidden places may lie behind one that does not exist yet.
func TestLinksInTheConfiguration(t *testing.T) {
	p := policyIn(t, "supervised", func(c *config.Config) {
		dir := filepath.Dir(c.WorkspaceDir)
		if err := errors.Join(os.Symlink(c.WorkspaceDir, dir+"/link"),
			os.Symlink(c.WorkspaceDir+"/sub", dir+"/sublink")); err != nil {
			t.Fatal(err)
		}
		c.WorkspaceDir, c.Security.ForbiddenPaths = dir+"/link", []string{dir + "/sublink/later"}
	})
	for _, w := range []wanted{
		{"file_read", `{"path":"a.txt"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"` + p.root + `/a.txt"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"` + p.workspace + `/a.txt"}`, Allow, "path.workspace"},
		{"file_read", `{"path":"sub/later/x"}`, Deny, "path.forbidden"},
		{"file_read", `{"path":"inside/later"}`, Deny, "path.forbidden"},
		{"file_write", `{"path":"` + p.root + `/.git/config","content":""}`, Deny, "path.protected"},
	} {
		w.check(t, p)
	}
}

// Arguments that no tool takes are denied at the risk that the tool usually has.
func TestRiskOfInvalidArguments(t *testing.T) {
	p := policyIn(t, "full", nil)
	for tool, risk := range map[string]string{"time": "low", "file_read": "low", "http": "low", "file_write": "medium",
		"shell": "high"} {
		v := p.Decide(Call{Tool: tool, Args: record.Raw(`"what the model wrote"`)})
		if v.Outcome != Deny || v.Rule != "args.invalid" || v.Risk != risk || !strings.Contains(v.Reason, "object") {
			t.Errorf("%s: %+v", tool, v)
		}
	}
}

// TestWhatAddressesTell: wherever in an address data is put, beyond the bound it is no longer low risk; and no ordinary
// address asks.
func TestWhatAddressesTell(t *testing.T) {
	for _, bound := range []int{0, 50, 200, 1000} {
		p := policyIn(t, "supervised", func(c *config.Config) {
			c.Security.AllowedDomains, c.Security.UnaskedURLBytes = []string{"example.com", "*.wikipedia.org"}, bound
		})
		risk := func(url string) (string, Outcome) {
			args, _ := record.Encode(struct {
				URL string `json:"url"`
			}{url})
			v := p.Decide(Call{Tool: "http", Args: args})
			return v.Risk, v.Outcome
		}
		for _, base := range []string{"https://example.com", "http://example.com", "https://example.com:443",
			"https://en.wikipedia.org"} {
			if got, _ := risk(base + "/"); got != "low" && !strings.Contains(base, ":443") &&
				!strings.Contains(base, "wiki") {
				t.Errorf("%d: %s/ is %s", bound, base, got)
			}
			for _, at := range []string{"/", "/?", "/?q=", "/#", "/a/b?c=d#", "?", "#", "/%41?x=%"} {
				for _, data := range []string{strings.Repeat("x", bound+8), strings.Repeat("41", bound/2+8),
					strings.Repeat("a=b&", bound/4+4)} {
					if got, o := risk(base + at + data); got != "medium" || o != Ask {
						t.Errorf("%d: %s%s and %d bytes: %s, %v", bound, base, at, len(data), got, o)
					}
				}
			}
		}
		for _, host := range []string{strings.Repeat("a", 41), strings.Repeat("ab.", 14) + "x", "xn--80ak6aa92e",
			"a.xn--b"} {
			if got, o := risk("https://" + host + ".wikipedia.org/"); got != "medium" || o != Ask {
				t.Errorf("%s: %s, %v", host, got, o)
			}
		}
	}
	p := policyIn(t, "supervised", func(c *config.Config) { c.Security.AllowedDomains = []string{"*.wikipedia.org"} })
	for _, url := range []string{"https://en.wikipedia.org/wiki/Landlock",
		"https://commons.m.wikipedia.org/w/index.php?title=Special:Search&search=privilege+separation+in+unix&ns0=1"} {
		if v := p.Decide(Call{Tool: "http", Args: record.Raw(`{"url":"` + url + `"}`)}); v.Outcome != Allow {
			t.Errorf("%s: %+v", url, v)
		}
	}
}

func TestHTTP(t *testing.T) {
	p := policyIn(t, "supervised",
		func(c *config.Config) { c.Security.AllowedDomains = []string{"example.com", "*.wikipedia.org"} })
	for url, rule := range map[string]string{
		"https://example.com/": "", "http://EXAMPLE.com.": "", "https://en.wikipedia.org:443/x?y#z": "",
		"https://wikipedia.org/": "http.domain", "https://evilexample.com/": "http.domain",
		"https://example.com.evil.net/": "http.domain",
		"https://x.example.com/":        "http.domain", "https://evil-wikipedia.org/": "http.domain",
		"http://127.0.0.1/": "http.url", "http://[::1]/": "http.url", "http://2130706433/": "http.url",
		"http://0x7f.1/": "http.url", "http://127.1/": "http.url",
		"ftp://example.com/": "http.url", "file:///etc/passwd": "http.url", "//example.com": "http.url",
		"example.com": "http.url", "": "http.url",
		"https://user@example.com/": "http.url", "https://example.com:8080/": "http.url",
		"https://example.com:/":           "http.url",
		"https://example.com\\@evil.net/": "http.url", "https://exa mple.com/": "http.url",
		"https://example.com/\n":           "http.url",
		"https://example.com%00.evil.net/": "http.url", "https://example%2ecom/": "http.url",
		"https://example.com:0443/": "http.url", "http://example.com:80:80/": "http.url",
		"http://example.com../": "http.url", "https://.example.com/": "http.url", "http:///x": "http.url",
		"http://017700000001/": "http.url", "http://0/": "http.url", "https://*.wikipedia.org/": "http.url",
		"https://example.com#@evil.net": "", "https://evil.net#example.com": "http.domain",
		"https://evil.net/?.wikipedia.org": "http.domain", "javascript:alert(1)": "http.url",
		"HTTPS://example.com/": "",
		"https://exämple.com/": "http.url", "https:example.com": "http.url", "https://[fe80::1%25lo]/": "http.url",
	} {
		args, _ := record.Encode(struct {
			URL string `json:"url"`
		}{url})
		w := wanted{"http", string(args), Deny, rule}
		if rule == "" {
			w.outcome, w.rule = Allow, "http.domain"
		}
		w.check(t, p)
	}
}

func TestHashFollowsThePolicy(t *testing.T) {
	a := policyIn(t, "supervised", func(c *config.Config) { c.WorkspaceDir, c.Home = "/w", "/h" })
	b := policyIn(t, "supervised", func(c *config.Config) { c.WorkspaceDir, c.Home = "/w", "/h" })
	c := policyIn(t, "full", func(c *config.Config) { c.WorkspaceDir, c.Home = "/w", "/h" })
	b.forbidden, a.forbidden = nil, nil
	if a.Hash() == c.Hash() || len(a.Hash()) != 64 {
		t.Errorf("%s, %s", a.Hash(), c.Hash())
	}
}
