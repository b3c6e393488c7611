package approval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// scripted is an asker that gives one answer after the other, and keeps what it was asked.
type scripted struct {
	answers []string
	err     error
	asked   []Question
	then    func() // what happens while the question is open
}

func (s *scripted) Ask(ctx context.Context, q Question) (string, error) {
	s.asked = append(s.asked, q)
	if s.then != nil {
		s.then()
	}
	if s.err != nil || len(s.answers) == 0 {
		return "", s.err
	}
	key := s.answers[0]
	s.answers = s.answers[1:]
	return key, ctx.Err()
}

// home is a configuration with a workspace that holds file.txt.
func home(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default(t.TempDir())
	cfg.WorkspaceDir = dir
	return cfg
}

func request(cfg *config.Config, tool, args string) Request {
	return Request{Config: cfg, Call: record.ToolCall{ID: "call-1", ConversationID: "conv-1", Tool: tool,
		Args: record.Raw(args)},
		Verdict: record.Verdict{Decision: record.Deny, Risk: record.RiskMedium, Rule: "path.workspace",
			Reason: "writes", PolicyHash: "before"}}
}

const overwrite = `{"path":"file.txt","content":"one\nthree\n"}`

// TestAnswers: what each answer does. Only a plain yes allows a call; whatever else an asker returns is a no.
func TestAnswers(t *testing.T) {
	offer := &Offer{Rule: config.Rule{Name: "always-1", When: `.tool == "file_write"`, Decide: "allow"}, Words: "all"}
	for _, c := range []struct {
		answers []string
		err     error
		offer   *Offer
		allowed bool
		reason  string // ends with
		hash    string
	}{
		{answers: []string{Yes}, allowed: true, reason: "writes", hash: "before"},
		{answers: []string{Session}, allowed: true, reason: "writes", hash: "before"},
		{answers: []string{No}, reason: "; refused by the operator", hash: "before"},
		{answers: []string{""}, reason: "; refused by the operator", hash: "before"},
		{answers: []string{"yes"}, reason: "; refused by the operator", hash: "before"}, // a word, not a key
		{answers: []string{"Y"}, reason: "; refused by the operator", hash: "before"},
		{answers: []string{Always, Yes}, reason: "; refused by the operator", hash: "before"}, // it was not offered
		{answers: []string{Always, Yes}, offer: offer, allowed: true, reason: "writes", hash: "after"},
		{answers: []string{Always, No}, offer: offer, reason: "; refused by the operator", hash: "before"},
		{answers: []string{Always, ""}, offer: offer, reason: "; refused by the operator", hash: "before"},
		{answers: []string{Always, Session}, offer: offer, reason: "; refused by the operator", hash: "before"},
		{answers: []string{Always, Always}, offer: offer, reason: "; refused by the operator", hash: "before"},
		{err: ErrNobody, reason: "; needs approval, but there is no terminal to ask on", hash: "before"},
		{err: errors.New("broken"), reason: "; needs approval, but got none: broken", hash: "before"},
	} {
		asker := &scripted{answers: c.answers, err: c.err}
		a := Approvals{Asker: asker, Adopt: func(config.Rule) (string, error) { return "after", nil }}
		r := request(home(t), "file_write", overwrite)
		r.Offer = c.offer
		v := a.Decide(context.Background(), r)
		if (v.Decision == record.Allow) != c.allowed || !strings.HasSuffix(v.Reason, c.reason) ||
			v.PolicyHash != c.hash {
			t.Errorf("%q, %v: %+v", c.answers, c.err, v)
		}
		want := record.ApprovalRefused
		switch {
		case c.allowed:
			want = record.ApprovalGranted
		case c.err != nil:
			want = record.ApprovalUnavailable
		}
		if v.Approval != want {
			t.Errorf("%q, %v: approval %s, want %s", c.answers, c.err, v.Approval, want)
		}
		if offered := len(asker.asked[0].Answers) == 4; offered != (c.offer != nil) {
			t.Errorf("%q: a rule is offered: %t", c.answers, offered)
		}
	}
}

// TestSession: a yes for the session is one to these very bytes, in this conversation, at this risk, under this policy,
// and to no others.
func TestSession(t *testing.T) {
	cfg := home(t)
	asker := &scripted{answers: []string{Session}}
	a := Approvals{Asker: asker}
	if v := a.Decide(context.Background(),
		request(cfg, "file_write", overwrite)); v.Approval != record.ApprovalGranted {
		t.Fatalf("%+v", v)
	}
	if v := a.Decide(context.Background(),
		request(cfg, "file_write", overwrite)); v.Approval != record.ApprovalSession || v.Decision != record.Allow ||
		len(asker.asked) != 1 {
		t.Errorf("%+v, asked %d times", v, len(asker.asked))
	}
	for name, change := range map[string]func(*Request){
		"conversation": func(r *Request) { r.Call.ConversationID = "conv-2" },
		"tool":         func(r *Request) { r.Call.Tool = "file_edit" },
		"bytes":        func(r *Request) { r.Call.Args = record.Raw(overwrite + " ") },
		"risk":         func(r *Request) { r.Verdict.Risk = record.RiskHigh },
		"policy":       func(r *Request) { r.Verdict.PolicyHash = "after" },
		"obeyed":       func(r *Request) { r.Verdict.Obeyed = []string{".envrc"} },
	} {
		r := request(cfg, "file_write", overwrite)
		change(&r)
		if v := a.Decide(context.Background(), r); v.Decision != record.Deny || v.Approval != record.ApprovalRefused {
			t.Errorf("another %s: %+v", name, v)
		}
	}
}

// TestChangedMeanwhile: a yes to a diff is none to another file, whatever changed and for how long it is meant.
func TestChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"edited":   func(p string) error { return os.WriteFile(p, []byte("one\nfour\n"), 0o600) },
		"removed":  os.Remove,
		"link":     func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/etc/passwd", p)) },
		"replaced": func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		for _, answer := range []string{Yes, Session} {
			cfg := home(t)
			asker := &scripted{answers: []string{answer, No}, then: func() {
				if err := change(filepath.Join(cfg.WorkspaceDir, "file.txt")); err != nil {
					t.Error(err)
				}
			}}
			a := Approvals{Asker: asker}
			v := a.Decide(context.Background(), request(cfg, "file_write", overwrite))
			if v.Decision != record.Deny || !strings.Contains(v.Reason,
				"the file changed during the approval question") {
				t.Errorf("%s, %s: %+v", name, answer, v)
			}
			asker.then = nil
			if v := a.Decide(context.Background(), request(cfg, "file_write", overwrite)); v.Decision != record.Deny ||
				len(asker.asked) != 2 {
				t.Errorf("%s, %s, again: %+v", name, answer, v)
			}
		}
	}
}

// TestUnwritableRule: the yes is to this call, and somebody is told.
func TestUnwritableRule(t *testing.T) {
	warned := ""
	a := Approvals{Asker: &scripted{answers: []string{Always, Yes}},
		Warn:  func(text string, _ ...any) { warned = text },
		Adopt: func(config.Rule) (string, error) { return "after", errors.New("full") }}
	r := request(home(t), "file_write", overwrite)
	r.Offer = &Offer{}
	if v := a.Decide(context.Background(), r); v.Decision != record.Allow || v.PolicyHash != "before" ||
		!strings.Contains(warned, "not written") {
		t.Errorf("%+v, %q", v, warned)
	}
}

// TestStopped: a question ends with the turn, in time, and when the emergency stop is pulled.
func TestStopped(t *testing.T) {
	wait := askFunc(func(ctx context.Context, _ Question) (string, error) {
		<-ctx.Done()
		return Yes,
			context.Cause(ctx)
	})
	cfg := home(t)
	cfg.Limits.ApprovalTimeoutS = 0.001
	if v := (&Approvals{Asker: wait}).Decide(context.Background(),
		request(cfg, "time", "{}")); v.Decision != record.Deny || v.Approval != record.ApprovalUnavailable {
		t.Errorf("in time: %+v", v)
	}
	cfg.Limits.ApprovalTimeoutS = 600
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v := (&Approvals{Asker: wait}).Decide(ctx, request(cfg, "time", "{}")); v.Decision != record.Deny {
		t.Errorf("cancelled: %+v", v)
	}
	if err := os.WriteFile(filepath.Join(cfg.Home, "ESTOP"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if v := (&Approvals{Asker: wait}).Decide(context.Background(),
		request(cfg, "time", "{}")); v.Decision != record.Deny {
		t.Errorf("stopped: %+v", v)
	}
}

type askFunc func(ctx context.Context, q Question) (string, error)

func (f askFunc) Ask(ctx context.Context, q Question) (string, error) { return f(ctx, q) }
