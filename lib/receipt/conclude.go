package receipt

import (
	"fmt"
	"slices"
	"strings"

	"clawsh/lib/spelling"
)

// conclude fills in the report.
func (v *verifier) conclude(chainErr error) {
	r := &v.report
	r.LastHash, r.Require = string(v.last[:]), v.trust.require()
	r.Chain, r.Level = Intact, LevelNone
	if chainErr != nil {
		r.Chain = Broken
		v.problems[rank(LevelChain)] = problem{number: r.Count, reason: chainErr.Error()}
	}
	v.concludeMacs()
	v.concludeHead()
	v.concludeCheckpoint()
	for _, level := range Levels {
		if p := v.against(level); p == nil {
			r.Level = level
		}
	}
	bad := v.against(r.Require)
	if p := v.problems[rank(LevelCheckpoint)]; bad == nil && r.Checkpoint == Disagrees {
		bad = &p // whatever is required: somebody asked, and the answer is no
	}
	if bad == nil && v.trust.Attested && v.lacking.reason != "" {
		bad, r.Lacking = &v.lacking, v.lacking.number
	}
	r.Valid = bad == nil
	r.Evidence = v.evidence(chainErr != nil)
	if bad != nil {
		r.FirstBad, r.Reason = bad.number, bad.reason
	}
}

// problem says why a level is not reached. Missing evidence, as opposed to contrary evidence, does not prevent a
// stronger level for somebody without the MAC key.
type problem struct {
	number int // of the first receipt that it is about; 0: of none
	reason string
	want   bool
}

// against is the first problem that stands in the way of a level.
func (v *verifier) against(level string) *problem {
	for i := 1; i <= rank(level); i++ {
		p := &v.problems[i]
		if p.reason != "" && !(p.want && v.trust.Keys == nil && i < rank(level)) {
			return p
		}
	}
	return nil
}

func rank(level string) int { return slices.Index(Levels, level) + 1 }

func (v *verifier) concludeMacs() {
	r := &v.report
	switch k := v.trust.Keys; {
	case k == nil && v.macSeen:
		r.Macs = NotChecked
	case k == nil:
		r.Macs = None
	case v.macBad > 0:
		r.Macs = Broken
	case r.Count < k.Adopted && r.Chain == Intact:
		v.macBad, v.macReason = r.Count+1, fmt.Sprintf("it is missing: the log had %s when the key was made",
			spelling.Count(k.Adopted, "receipt"))
		r.Macs = Broken
	default:
		r.Macs = Valid
	}
	switch r.Macs {
	case Broken:
		v.problems[rank(LevelMac)] = problem{number: v.macBad, reason: v.macReason}
	case NotChecked, None:
		v.problems[rank(LevelMac)] = problem{reason: "there is no key to check MACs with", want: true}
	}
}

func (v *verifier) concludeHead() {
	r := &v.report
	if v.head == nil {
		if r.Head == "" {
			r.Head = None
		}
		reason := "there is no head: receipts at the end may be missing"
		if r.Head == NotChecked {
			reason = "there is no key to check the head with"
		}
		v.problems[rank(LevelHead)] = problem{reason: reason, want: true}
		return
	}
	r.HeadCount, r.Head = v.head.count, Disagrees
	number, reason := 0, ""
	switch {
	case v.headBad != "":
		reason = "the head is invalid: " + v.headBad
	case v.head.count > r.Count:
		number, reason = r.Count+1, fmt.Sprintf("it is missing: the head counts %s",
			spelling.Count(v.head.count, "receipt"))
	case v.headHash != v.head.hash:
		number, reason = v.head.count, "it is not the receipt that the head names"
	case v.head.size != noSize && v.head.size != v.headSize:
		reason = fmt.Sprintf("the head counts %s for the first %s, and there are %d",
			spelling.Count(v.head.size, "byte"), spelling.Count(v.head.count, "receipt"), v.headSize)
	case v.head.count < r.Count && v.trust.Keys == nil:
		number, reason = v.head.count+1, "the head does not cover it, and there is no key to check its MAC with"
	case v.head.count < r.Count:
		r.Head = Behind
	default:
		r.Head = Agrees
	}
	v.problems[rank(LevelHead)] = problem{number: number, reason: reason}
}

func (v *verifier) concludeCheckpoint() {
	r := &v.report
	if v.kept == nil {
		r.Checkpoint = None
		v.problems[rank(LevelCheckpoint)] = problem{reason: "no checkpoint was given (--against FILE)"}
		return
	}
	last := v.kept[len(v.kept)-1]
	r.Size, r.Checkpoint = int(last.N), Disagrees
	number, reason := 0, ""
	switch {
	case v.forked != nil:
		r.Size = int(v.forked.N)
		reason = fmt.Sprintf("it does not begin with the %s of the checkpoint", spelling.Count(v.forked.N, "receipt"))
	case last.N > int64(r.Count):
		number, reason = r.Count+1, fmt.Sprintf("it is missing: the checkpoint counts %s",
			spelling.Count(last.N, "receipt"))
	default:
		r.Checkpoint = Extended
	}
	v.problems[rank(LevelCheckpoint)] = problem{number: number, reason: reason}
}

// older says how many receipts have no MAC because they are older than the key: no MAC shows what was done to them
// before.
func (v *verifier) older() string {
	if n := v.trust.Keys.Adopted; n > 0 {
		return fmt.Sprintf(" from receipt %d on; earlier receipts are older than the key", n+1)
	}
	return ""
}

// attestations says in words who vouches for the results.
func (r *Report) attestations() (parts []string) {
	for _, x := range []struct {
		n    int
		what string
	}{{r.Attested, "attested"}, {r.Unattested, "unattested"}, {r.Recovered, "interrupted"},
		{r.Unmarked, "written before results were sealed"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return parts
}

// evidence says in words how far the finding reaches.
func (v *verifier) evidence(broken bool) string {
	r := v.report
	if broken {
		if r.Count <= 1 {
			return "nothing is proven"
		}
		return fmt.Sprintf("receipts 1 to %d are intact; nothing is proven about receipt %d and later ones", r.Count-1,
			r.Count)
	}
	parts := []string{"chain intact"}
	switch r.Macs {
	case Valid:
		parts = append(parts, "MACs valid"+v.older())
	case Broken:
		parts = append(parts,
			fmt.Sprintf("wrong MAC at receipt %d: later receipts may be written by someone without the key", v.macBad))
	case NotChecked:
		parts = append(parts, "MACs not checked (no key)")
	case None:
		parts = append(parts, "no MACs: someone may have rewritten the whole log")
	}
	switch r.Head {
	case Agrees:
		parts = append(parts, "head agrees")
	case Behind:
		parts = append(parts, fmt.Sprintf("head is valid but %s behind (normal after a crash)",
			spelling.Count(r.Count-r.HeadCount, "receipt")))
	case Disagrees:
		parts = append(parts, "head disagrees")
	case NotChecked:
		parts = append(parts, "head not checked (no key)")
	default:
		parts = append(parts, "no head: receipts at the end may be missing")
	}
	switch r.Checkpoint {
	case Extended:
		parts = append(parts, fmt.Sprintf("it extends the checkpoint of %d", r.Size))
	case Disagrees:
		parts = append(parts, fmt.Sprintf("it does not extend the checkpoint of %d", r.Size))
	}
	parts = append(parts, r.attestations()...)
	if r.After {
		parts = append(parts, "replaces a damaged log that was set aside")
	}
	if r.TornTail {
		parts = append(parts, "the last line is incomplete (normal after a crash)")
	}
	return strings.Join(parts, ", ")
}
