// Package approval is the question whether a call may run: what is shown of the call, which answers there are, what
// each of them does, and the rule that one of them writes.
//
// Who is asked, and where, is an Asker's business: Terminal is the one on the terminal. A page, or a file that waits
// for an answer, is another one. Whatever an Asker cannot say for certain is a no.
package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/permit"
	"clawsh/lib/record"
	"clawsh/lib/spelling"
	"clawsh/lib/terminal"
)

// Asker puts a question to a person. It returns the key of the answer that was given, "" for none of them, and
// ErrNobody if there is nobody to ask. An end of ctx ends the question.
type Asker interface {
	Ask(ctx context.Context, q Question) (key string, err error)
}

// ErrNobody means that there is nobody to ask.
var ErrNobody = errors.New("there is nobody to ask")

// Question is one about a call or about a rule. Its texts are safe to show.
type Question struct {
	// Head says what it is about, Body the rest, as Diff what a file loses and gains.
	Head, Body, Diff string
	// Brief says again what it is about, where Body may be longer than a screen; empty if it cannot be.
	Brief string
	// Prompt is the question itself.
	Prompt  string
	Answers []Answer
}

// Request is a call that needs a yes.
type Request struct {
	Config *config.Config // in force for this call
	Call   record.ToolCall
	// Verdict is what holds without an answer: a denial, with its risk, rule and reason.
	Verdict record.Verdict
	// Offer is the rule that would always allow the call; nil if there is none.
	Offer *Offer
}

// Offer is a rule, and in words what it allows.
type Offer struct {
	Rule  config.Rule
	Words string
}

// Approvals are the approvals of one session: the life of a gate.
type Approvals struct {
	Asker Asker
	// Adopt writes a rule, and returns the hash of the policy that is in force with it.
	Adopt func(config.Rule) (policyHash string, err error)
	// Warn logs what went wrong and does not change the answer.
	Warn func(text string, attrs ...any)

	granted map[string]bool // the calls that were allowed for the rest of the session (sessionKey)
}

// Decide gives the verdict on a call that needs a yes. Nobody to ask, no answer in time and every failure mean no.
func (a *Approvals) Decide(ctx context.Context, r Request) record.Verdict {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Config.Limits.ApprovalTimeoutS*float64(time.Second)))
	defer cancel()
	defer watchEstop(ctx, r.Config.Home, cancel)()
	v, key := r.Verdict, sessionKey(r.Call, r.Verdict)
	if a.granted[key] {
		v.Approval, v.Decision = record.ApprovalSession, record.Allow
		return v
	}
	what := show(r.Config, r.Call)
	answer, err := a.Asker.Ask(ctx, question(r, what))
	if answer == Always && err == nil {
		answer, err = a.always(ctx, r, &v)
	}
	switch {
	case errors.Is(err, ErrNobody):
		v.Approval, v.Reason = record.ApprovalUnavailable,
			v.Reason+"; needs approval, but there is no terminal to ask on"
	case err != nil:
		v.Approval, v.Reason = record.ApprovalUnavailable,
			fmt.Sprintf("%s; needs approval, but got none: %v", v.Reason, err)
	case answer != Yes && answer != Session:
		v.Approval, v.Reason = record.ApprovalRefused, v.Reason+"; refused by the operator"
	case !what.still():
		v.Approval, v.Reason = record.ApprovalRefused,
			v.Reason+"; the file changed during the approval question: read it again, and repeat the call"
	default:
		v.Approval, v.Decision = record.ApprovalGranted, record.Allow
		if answer == Session {
			a.grant(key)
		}
	}
	return v
}

func (a *Approvals) grant(key string) {
	if a.granted == nil {
		a.granted = map[string]bool{}
	}
	a.granted[key] = true
}

// sessionKey is what a yes for the session is a yes to: these very bytes, in this conversation, under this policy. A
// session is the life of this process: a conversation on the terminal has one gate.
func sessionKey(call record.ToolCall, v record.Verdict) string {
	return strings.Join([]string{call.ConversationID, call.Tool, record.HashBytes(call.Args), v.Risk, v.PolicyHash,
		permit.Files(v.Obeyed)}, "\x00")
}

// question shows the whole call: what are its arguments.
func question(r Request, what shown) Question {
	tool, reason := terminal.Escape(r.Call.Tool), terminal.Escape(r.Verdict.Reason)
	return Question{
		Head: fmt.Sprintf("\nTool request:\n  tool: %s\n  risk: %s\n  reason: %s\n", tool, r.Verdict.Risk, reason),
		Body: what.text, Diff: what.diff,
		Brief: fmt.Sprintf("%s of arguments for %s, risk %s: %s", spelling.Count(len(r.Call.Args), "byte"), tool,
			r.Verdict.Risk, reason),
		Prompt: "Approve? [y/N] ", Answers: approvals(r.Offer != nil),
	}
}

// always shows the rule that would answer this question from now on, and writes it if the person says so again. A rule
// that cannot be written is said so, and the yes is to this call.
func (a *Approvals) always(ctx context.Context, r Request, v *record.Verdict) (string, error) {
	if r.Offer == nil {
		return "", nil // nobody was offered one
	}
	rule, path := r.Offer.Rule, terminal.Escape(r.Config.RulesPath())
	answer, err := a.Asker.Ask(ctx, Question{Prompt: "Write the rule, and run the call? [y/N] ", Answers: writings(),
		Head: fmt.Sprintf("\nThis rule allows %s:\n", terminal.Escape(r.Offer.Words)),
		Body: fmt.Sprintf("  name    %s\n  when    %s\n  decide  %s\nIt will be appended to %s. To remove it: clawsh policy rules remove %s\n",
			rule.Name, terminal.Sanitize(rule.When), rule.Decide, path, rule.Name)})
	if err != nil || answer != Yes {
		return "", err
	}
	hash, err := a.Adopt(rule)
	if err != nil {
		a.Warn("the rule was not written; the call is allowed once", "rule", rule.Name, "error", err.Error())
		return Yes, nil
	}
	v.PolicyHash = hash // the rule that was written is a part of it
	return Yes, nil
}

// watchEstop cancels a question when the emergency stop is pulled. The function that it returns ends the watch.
func watchEstop(ctx context.Context, home string, cancel context.CancelFunc) func() {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				if stopped, _ := config.Estop(home); stopped {
					cancel()
				}
			}
		}
	}()
	return func() { close(done) }
}
