package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/policy/programs"
	"clawsh/test/corpus"
	"clawsh/test/need"
)

// newEffort is the effort of a verdict that everybody waits for.
func newEffort() effort { return effortFor(context.Background()) }

// nest puts n times one text before and one behind another.
func nest(before, inner, behind string) func(int) string {
	return func(n int) string { return strings.Repeat(before, n) + inner + strings.Repeat(behind, n) }
}

// repeated repeats a text with a number in it between others.
func repeated(before, each, behind string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range n {
			b.WriteString(strings.ReplaceAll(each, "#", fmt.Sprint(i)))
		}
		return b.String() + behind
	}
}

// namesOf are the names of the programs that are something.
func namesOf(is func(*programs.Program, string) bool) (out []string) {
	for _, p := range programs.All() {
		for _, name := range p.Names {
			if is(p, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// shapes are ways to make a script larger.
func shapes() map[string]func(int) string {
	out := map[string]func(int) string{}
	for _, name := range namesOf(func(p *programs.Program, _ string) bool { return p.How == programs.Wrapper }) {
		if name != "env" && name[0] > 'g' {
			continue // one is judged as the other
		}
		out["wrapper "+name] = nest(name+" ", "ls", "")
		out["options of "+name] = repeated(name, " -x#", " ls")
		out["wrapper of a shell: "+name] = nest(name+" sh -c ", "ls", "")
	}
	takesText := namesOf(func(p *programs.Program, name string) bool { return p.Is(name, programs.RunsText) })
	for _, name := range append(takesText, "eval", "env -S", "env -S env", "xargs", "find . -exec",
		"find . -exec sh -c", "command eval", "timeout 1 eval", "sudo eval", "eval eval --") {
		out["run by "+name] = nest(name+" ", "ls", "")
		out["texts of "+name] = repeated(name, " 'a # b'", "")
		out["commands of "+name] = repeated("", name+" 'a # b'; ", "")
	}
	for name, pair := range map[string][2]string{
		"substitution": {"echo $(", ")"}, "quoted substitution": {`echo "$(`, `)"`}, "subshell": {"(", ")"},
		"block": {"{ ", "; }"}, "default": {"${a:-", "}"}, "default of echo": {"echo ${a:-", "}"},
		"removal": {"${a%", "}"}, "replacement": {"${a/x/", "}"}, "slice": {"echo ${a:$(echo ", ")}"},
		"index": {"echo ${a[$(echo ", ")]}"}, "arithmetic": {"echo $((1+", "))"}, "brackets": {"[[ ( ", " ) ]]"},
		"comparison": {"[[ $(", ") -eq 1 ]]"}, "newer": {"[[ $(", ") -nt a ]]"}, "both": {"[[ $(", ") -eq $(ls) ]]"},
		"process": {"cat <(", ")"}, "if": {"if ", "; then ls; else ls; fi"}, "then": {"if ls; then ", "; fi"},
		"else": {"if ls; then ls; else ", "; fi"},
		"elif": {"if ls; then ls; el", ""}, "while": {"while ", "; do ls; done"}, "do": {"while ls; do ", "; done"},
		"for": {"for a in a b; do ", "; done"}, "many": {"for a in 1 2 3 4 5 6 7 8; do ", "; done"},
		"unknown": {"for a in $(ls); do ", "; done"}, "case": {"case a in a) ", ";; esac"},
		"cases": {"case a in a) ls;; *) ", ";; esac"}, "function": {"f() { ", "; }"}, "assignment": {"a=$(", ") ls"},
		"redirection": {"ls >$(", ")"}, "array": {"a=($(", "))"}, "braces": {"{a,", "}"}, "extended": {"ls @(a|", ")"},
		"c style": {"for ((i=0;i<3;i++)); do ", "; done"}, "time": {"time ", ""}, "not": {"! ", ""},
		"backquotes": {"`", "`"},
		"sh -c":      {`sh -c "`, `"`}, "quoted": {"sh -c '", "'"}, "pipe into sh": {"", " | sh"},
		"export": {"export a=$(", ")"}, "heredoc": {"cat <<E\n$(", ")\nE\n"}, "let": {"let a=$(", ")"},
	} {
		out["nested "+name] = nest(pair[0], "ls", pair[1])
	}
	for name, parts := range map[string][3]string{
		"words": {"cat", " a#", ""}, "long words": {"echo ", "aaaaaaaa/", ""}, "deep path": {"cat ", "a/", "b"},
		"parents": {"cat ", "../", "b"}, "paths": {"cat", " a/b/c/d/e/f#", ""}, "links": {"cat", " inside/../#", ""},
		"options": {"sort", " -k#", ""}, "globs": {"ls", " *#", ""}, "all": {"ls", " *", ""},
		"deep glob": {"ls ", "*/", "*"}, "alternatives": {"ls ", "{a,b}", ""}, "statements": {"", "ls;", ""},
		"lines": {"", "ls\n", ""}, "pipe": {"ls", "|cat", ""}, "names": {"find .", "|sort", "|xargs cat"},
		"piped shells": {"ls", "|sh", ""}, "unlisted": {"a", "|a", ""}, "and": {"ls", "&&ls", ""},
		"or":        {"ls", "||ls", ""},
		"variables": {"", "a#=1;", "ls"}, "variables and": {"a=1", "&& a#=1", ""},
		"variables in pipes": {"", "a#=1;ls|cat;", "ls"}, "doubled": {"a=xxxx;", "a=$a$a;", "cat $a"},
		"used": {"a=abcdefgh;cat", " $a", ""}, "used in one": {"a=abcdefgh;cat ", "$a", ""},
		"replaced": {"a=aaaaaaaaaaaaaaaa;cat", " ${a//a/$a}", ""},
		"removed":  {"a=aaaaaaaaaaaaaaaa;cat", " ${a%%*a*a}", ""},
		"heredocs": {"", "cat <<A#\nx\nA#\n", ""}, "one line heredocs": {"cat", " <<A", "\n" + "A\n"},
		"shell heredoc": {"sh <<E\n", "ls #\n", "E\n"}, "redirections": {"ls", " >a#", ""},
		"redirected shell": {"sh", " <<<'a #'", ""}, "cases": {"case a in ", "b#) ls;;", " esac"},
		"functions": {"", "f#() { ls; }\n", ""}, "calls": {"f() { ", "f; ", "}"},
		"find tests": {"find .", " -name a#", ""}, "find runs": {"find .", " -exec cat {} +", ""},
		"find runs 2": {"find .", " -exec cat {} ;", ""}, "sed": {"sed '", "s/a/b/;", "' a"},
		"sed scripts": {"sed", " -e p", " a"}, "sed classes": {"sed '", "/[[:", "' a"},
		"awk": {"awk '", "{print $1}", "' a"}, "awk brackets": {"awk '{print ", "(", "1}'"},
		"jq": {"jq '", ".env|", ". ' a"}, "jq blanks": {"jq '", "{    env    }", "'"},
		"expr": {"echo $((1", "+1", "))"}, "trees": {"diff", " .", ""}, "tree": {"ls -L", " .", ""},
		"cd": {"", "cd sub;", "ls"}, "cd or": {"ls", "||cd sub#", ""}, "echo sh": {"echo", " 'a #'", "|sh"},
		"quotes": {"echo ", "''\"\"", ""}, "escapes": {"echo ", `\a`, ""}, "comments": {"", "#\n", "ls"},
		"tests": {"test", " -f a#", ""}, "conditions": {"[[ a", " && -f a#", " ]]"}, "envs": {"env", " A#=b", " ls"},
		"env -C":     {"env", " -C sub", " ls"},
		"positional": {"sh -c '$@' '$@'", " '$@#'", ""}, "unclosed": {"echo ", "'a' \"", ""},
		"download": {"curl x", "|cat", "|sh"}, "reads": {"", "read a#;", "ls"},
		"xargs words": {"find . | xargs cat", " a#", ""}, "ands of loops": {"", "for a in 1 2 3 4; do ls; done;", ""},
		"background": {"", "ls & ", ""},
	} {
		out["list of "+name] = repeated(parts[0], parts[1], parts[2])
	}
	return out
}

// effortOf judges a script and returns how many steps that took.
func effortOf(p *Policy, script string) (int, finding) {
	e := newEffort()
	f := p.script(script, e)
	return e.steps, f
}

// The gate takes steps that grow no faster than a script does, or blocks it: no shape of script keeps it busy.
func TestStepsAreLinear(t *testing.T) {
	p := policyIn(t, "full", nil)
	complexes, sizes := 0, []int{60, 240}
	if need.Soak() {
		sizes = append(sizes, 960)
	}
	all := shapes()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if !need.OneIn(4, i) {
			continue
		}
		shape, base, at := all[name], 0, 0
		for _, n := range sizes {
			script := shape(n)
			if len(script) > maxScriptBytes {
				break
			}
			steps, f := effortOf(p, script)
			if steps > 2*maxSteps {
				t.Errorf("%s of %d: %d steps, at most %d", name, n, steps, maxSteps)
			}
			if f.rule == "shell.complex" {
				complexes++
				break
			}
			// Functions in each other are looked through for each: no more of them than brackets.
			if base > 0 && name != "nested function" && steps > maxSteps/64 && steps > 3*base*len(script)/at {
				t.Errorf("%s: %d bytes take %d steps, and %d take %d", name, at, base, len(script), steps)
			}
			base, at = steps, len(script)
		}
	}
	t.Logf("%d shapes are blocked as too complex", complexes)
}

// What is blocked as too complex says so, wherever the steps go.
func TestTooComplexIsBlocked(t *testing.T) {
	p := policyIn(t, "full", nil)
	for _, script := range []string{"echo " + strings.Repeat("${a:-", 240) + strings.Repeat("}", 240),
		strings.Repeat("[[ $(", 120) + "ls" + strings.Repeat(") -eq 1 ]]", 120), strings.Repeat("eval ", 3000) + "ls"} {
		if _, f := effortOf(p, script); !f.blocked && f.rank() < 2 {
			t.Errorf("%.40q: %+v", script, f)
		}
	}
	e := newEffort()
	e.spend(maxSteps + 1)
	if f := p.script("ls", e); f.rule != "shell.complex" || !f.blocked {
		t.Errorf("without steps: %+v", f)
	}
}

// What people and models write takes a small part of the steps.
func TestOrdinaryCommandsTakeFewSteps(t *testing.T) {
	p := policyIn(t, "full", nil)
	cases, err := corpus.Load("../../testdata/commands")
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, c := range cases {
		steps, f := effortOf(p, c.Command)
		if f.rule == "shell.complex" && c.File != corpus.Hostile {
			t.Errorf("%.80q is too complex", c.Command)
		}
		if c.File != corpus.Hostile {
			most = max(most, steps)
		}
	}
	t.Logf("at most %d of %d", most, maxSteps)
	if most > maxSteps/50 {
		t.Errorf("an ordinary command takes %d steps of %d", most, maxSteps)
	}
}
