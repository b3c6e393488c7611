package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"clawsh/lib/card"
	"clawsh/lib/record"
)

// There is a rule for every kind of command, word and expression that the parser can make: what this list lacks, the
// judge has no rule for, and holds for high.
func TestEveryNodeHasARule(t *testing.T) {
	p := policyIn(t, "full", nil)
	for name, script := range map[string]string{
		"CallExpr": "ls", "Subshell": "(ls)", "Block": "{ ls; }",
		"IfClause": "if ls; then ls; elif ls; then ls; else ls; fi", "WhileClause": "until ls; do ls; done",
		"ForClause": "for x in a; do ls; done", "CStyleLoop": "for ((i=0;i<2;i++)); do ls; done",
		"CaseClause": "case a in b) ls;; esac", "BinaryCmd": "ls && ls || ls | ls",
		"TestClause": "[[ -f a.txt && ! ( a = b ) ]]",
		"ArithmCmd":  "((1+2))", "LetClause": "let x=1+2", "TimeClause": "time ls", "DeclClause": "local x=1",
		"Lit": "ls a.txt", "SglQuoted": "echo 'a' $'b'", "DblQuoted": "echo \"a\"",
		"ParamExp": "x=1; echo $x ${x} ${#x} ${x:0:1} ${x#a} ${x/a/b}", "CmdSubst": "echo $(ls) `ls`",
		"ArithmExp": "echo $((1))", "BraceExp": "echo {a,b} {1..3}",
		"Redirect": "ls > x < a.txt 2>&1", "Hdoc": "cat <<E\na\nE", "WordHdoc": "cat <<< a",
	} {
		if f := p.script(script, newEffort()); f.rank() != 1 {
			t.Errorf("%s: %q is %s (%s), want medium", name, script, f.risk, f.reason)
		}
	}
	for name, script := range map[string]string{
		"FuncDecl": "f() { ls; }", "CoprocClause": "coproc ls", "ProcSubst": "cat <(ls)", "ExtGlob": "ls @(a|b)",
		"Select": "select x in a; do ls; done", "Background": "ls &", "ArrayExpr": "x=(a b)",
		"Declare": "declare x=1", "Export": "export x=1", "Index": "x=1; echo ${x[1]}", "Excl": "x=1; echo ${!x}",
		"OtherParamOps": "x=1; echo ${x@Q}", "TsVarSet": "[[ -v x ]]", "DollarDblQuoted": "ls $\"a\"",
	} {
		if f := p.script(script, newEffort()); f.rank() < 2 {
			t.Errorf("%s: %q is %s, want high", name, script, f.risk)
		}
	}
	j := &judge{on: p, effort: newEffort()}
	if f := j.command(nil, p.start()); f.rank() != 2 {
		t.Errorf("an unknown node is %s", f.risk)
	}
}

// The reason names the part that decides, and no more than fits a line.
func TestReasonsNameThePart(t *testing.T) {
	p := policyIn(t, "full", nil)
	for script, want := range map[string]string{
		"ls; sort -o /etc/x a.txt; ls":              `in "sort -o /etc/x a.txt;": sort -o: "/etc/x" is in a forbidden place (/etc)`,
		"for f in a; do make; done":                 `in "make;": "make" is not on the allowlist`,
		"ls | awk 'BEGIN{system(1)}'":               `in "awk 'BEGIN{system(1)}'": awk: system can do more than compute and print`,
		"cat " + strings.Repeat("a", 300) + " | tr": "runs cat, tr inside the workspace",
	} {
		if f := p.script(script, newEffort()); f.reason != want {
			t.Errorf("%s:\n%s, want\n%s", script, f.reason, want)
		}
	}
}

// pieces are what scripts for the fuzz tests are put together from.
var fuzzPieces = []string{"ls", "cat a.txt", "cat ../x", "rm x", "cd sub", "cd ..", "x=a.txt", "cat $x", "echo \"$x\"",
	"make", "sort -o y a.txt", "grep -r x .", "echo hi > z", "for f in *.txt; do cat \"$f\"; done",
	"if ls; then cat a.txt; fi", "find . -name '*.txt' | xargs wc -l", "sed -n 1p a.txt", "awk '{print $1}' a.txt",
	"cat /etc/passwd", "env A=b ls", "timeout 1 ls", "$x", "eval ls", "(cd sub; ls)"}

// Adding a part never lowers the risk.
func FuzzMonotonic(f *testing.F) {
	f.Add(uint8(0), uint8(3), uint8(0))
	f.Add(uint8(4), uint8(1), uint8(1))
	f.Add(uint8(5), uint8(1), uint8(2))
	p := policyIn(f, "full", nil)
	f.Fuzz(func(t *testing.T, a, b, how uint8) {
		first, second := fuzzPieces[int(a)%len(fuzzPieces)], fuzzPieces[int(b)%len(fuzzPieces)]
		joined := first + []string{"; ", " && ", " || ", " | ", "\n"}[int(how)%5] + second
		one, both := p.script(first, newEffort()), p.script(joined, newEffort())
		if both.rank() < one.rank() {
			t.Errorf("%q is %s %v, %q is %s %v (%s)", first, one.risk, one.blocked, joined, both.risk, both.blocked,
				both.reason)
		}
		if after := p.script("true; "+second, newEffort()); both.rank() < after.rank() &&
			!strings.Contains(first, "cd ") && !strings.Contains(first, "x=") {
			t.Errorf("%q is %s, %q is %s", second, after.risk, joined, both.risk)
		}
	})
}

// Quoting and spacing never change the verdict.
func FuzzQuoting(f *testing.F) {
	for _, s := range []string{"cat a.txt", "rm -rf x", "sort -o /etc/x a.txt", "ls -la", "grep -f /etc/passwd x",
		"git log --oneline", "find . -delete", "awk 1 a.txt"} {
		f.Add(s, uint64(5))
	}
	p := policyIn(f, "full", nil)
	f.Fuzz(func(t *testing.T, script string, seed uint64) {
		words := strings.Fields(script)
		if len(words) == 0 || len(words) > 20 ||
			strings.Trim(script, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ./-_,:@+%") != "" ||
			syntax.IsKeyword(words[0]) {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			if syntax.IsKeyword(w) || w == "let" { // both have a grammar of their own, and quoted none
				return
			}
			at := int(seed>>(i%16)) % len(w)
			switch (seed >> (2 * (i % 30))) % 4 {
			case 0:
				quoted[i] = "'" + w + "'"
			case 1:
				quoted[i] = "\"" + w[:at] + "\"" + w[at:]
			case 2:
				quoted[i] = w[:at] + "\\" + w[at:]
			case 3:
				quoted[i] = w[:at] + "''" + w[at:]
			}
		}
		plain, other := p.script(strings.Join(words, " "), newEffort()),
			p.script(strings.Join(quoted, "  \t"), newEffort())
		if plain.rank() != other.rank() {
			t.Errorf("%q is %s blocked=%v (%s), %q is %s blocked=%v (%s)", words, plain.risk, plain.blocked,
				plain.reason, quoted, other.risk, other.blocked, other.reason)
		}
	})
}

// Any text is judged without a panic, and the judgement says why.
func FuzzScript(f *testing.F) {
	for _, s := range append(fuzzPieces, "$'\\x41'", "{a,b}{c,d}", "${x:-$(ls)}", "a=(1 2)", "((x++))", "[[ a =~ b ]]",
		"sed 's/[/]/x/' a", "awk '/[/]/' a", "jq '\"\\(env)\"'", "find . -exec sh -c {} +") {
		f.Add(s)
	}
	p := policyIn(f, "full", nil)
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 2000 {
			return
		}
		v := p.script(script, newEffort())
		if v.reason == "" || v.rule == "" || v.rank() < 0 || len(v.reason) > 2000 {
			t.Errorf("%q: %+v", script, v)
		}
		for _, text := range []string{sedWhy(script), awkProgram(script), jqFilter(script)} {
			_ = text
		}
	})
}

// BenchmarkDecide is how many simple commands are judged in a second, on one core: the aim is 20000.
func BenchmarkDecide(b *testing.B) {
	dir := b.TempDir()
	os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o644)
	p := policyIn(b, "supervised", nil)
	var calls []Call
	for _, c := range []string{"ls -la", "cat a.txt", "grep -rn TODO .", "git status", "wc -l a.txt | sort -rn",
		"make test"} {
		raw, _ := record.Encode(card.ShellArgs{Command: c})
		calls = append(calls, Call{Tool: "shell", Args: raw})
	}
	b.ResetTimer()
	for i := range b.N {
		p.Decide(calls[i%len(calls)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
	b.ReportMetric(20000, "aim_decisions/s")
}

func TestExpandWord(t *testing.T) {
	vars := map[string]string{"x": "a b", "y": "c*", "z": "one", "e": "", "PWD": t.TempDir()}
	os.Mkdir(vars["PWD"]+"/sub", 0o700)
	for _, name := range []string{"c1", "c2", ".h", "sub/d1", "sub/e1"} {
		os.WriteFile(vars["PWD"]+"/"+name, nil, 0o600)
	}
	list := OS{}.ReadDir
	for word, want := range map[string]string{
		"a": "a", `'a b'`: "a b", `"a b"c`: "a bc", `\a`: "a", `$'\x41\t\101\u0042'`: "A\tAB", "{a,b}c": "ac|bc",
		"{1..3}": "1|2|3", "{c..a}": "c|b|a", "$z": "one", "$x": "a|b", `"$x"`: "a b", "p$x": "pa|b",
		"$y": "c1|c2", `"$y"`: "c*", "c?": "c1|c2", "*": "c1|c2|sub", "sub/*": "sub/d1|sub/e1", "*/d1": "sub/d1",
		"*/": "sub/", "*/*": "sub/d1|sub/e1", "{c,x}*": "c1|c2|x*", "${z%e}*": "on*", `"${e:-c}"*`: "c1|c2",
		"$PWD/s*": vars["PWD"] + "/sub", "nomatch*": "nomatch*", `\*`: "*", `'*'`: "*", "$e": "", `"$e"`: "",
		"a$e": "a", ".?": ".h", "${z}s": "ones",
	} {
		f, err := syntax.NewParser().Parse(strings.NewReader("echo "+word), "")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := newEffort().expandWord(f.Stmts[0].Cmd.(*syntax.CallExpr).Args[1],
			func(n string) (string, bool) { v, ok := vars[n]; return v, ok }, list)
		if strings.Join(got, "|") != want || !ok {
			t.Errorf("%s: %q %v, want %q", word, got, ok, want)
		}
	}
	for _, word := range []string{"$unset", "$(ls)", "${unset:-a}", "${z:=a}", "${z@Q}", "${!z}", "${z/$unset/a}",
		"${z:q}", `$"a"`, "{1..100000}", `$'\xff'`, "$((1))"} {
		f, err := syntax.NewParser().Parse(strings.NewReader("echo "+word), "")
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := newEffort().expandWord(f.Stmts[0].Cmd.(*syntax.CallExpr).Args[1],
			func(n string) (string, bool) { v, ok := vars[n]; return v, ok }, list); ok {
			t.Errorf("%s was expanded to %q", word, got)
		}
	}
}

func TestMiniLanguages(t *testing.T) {
	for _, c := range []struct {
		read func(string) string
		good []string
		bad  []string
	}{
		{sedWhy, []string{"p", "1,5p", "$!d", "/a/,/b/p", "s/a/b/gI", "s|a|b|2", "y/abc/def/", "/x/{p;d}",
			"a\\\ntext e", "1!G;h;$!d", "s/a\\/b/c/", ":a;N;$!ba;s/\\n/ /g", "\\,x,d", "# w x", ""},
			[]string{"e", "1e id", "s/a/b/e", "s/a/b/w x", "w x", "r x", "R x", "W x", "/x/w y", "{w x\n}", "s/a/b",
				"s/a", "s/[/]x/b/", "y/a", "p e", "1~2e", "s/x/\\\n/e", "k", "s\na\nb\ne", "\\\\a\\e"}},
		{awkProgram, []string{"{print $1}", "$3>1", "NR==1||NR==2", "/a|b/", "{print (1>2)}",
			"{a[$1]++} END{for(k in a)print k}", "{gsub(/a/,\"b\");print}", "{x=$1/2; y=x/3}", "# system",
			"BEGIN{OFS=\",\"}{print \"a|b>c\"}", "length>80",
			"{if (/a/) /b/; print ($1+$2)/2, ($1)/3; print a[1]/2}", "{print $1,\n $2 \"a\"\n if ($1 > 2) x = 1}",
			"/[[:alpha:]]b/", "/[[:digit:]a-f]/"},
			[]string{"{print>\"x\"}", "{print $1 >> \"x\"}", "{print|\"sh\"}", "{\"id\"|getline}", "{system(1)}",
				"{getline<\"x\"}", "@load \"x\"", "{print ENVIRON[1]}", "BEGIN{ARGV[1]=1}", "{x++/1|\"a\"/2}",
				"{printf \"x\" > \"y\"}", "/a[/]b/", "\"", "/a",
				"BEGIN{if (1) /\"/; system(1) # \"\n}", "BEGIN{while (i++<1) /\"/; system(1) # \"\n}",
				"BEGIN{for (;;) /\"/; system(1) # \"\n}", "{switch (1) {case 1: if (a[(1)]) /\"/; system(1) # \"\n}}",
				"BEGIN{x = /[[:alpha:]/; x = \"]/; system(1) # \"\n}",
				"BEGIN{x = /[a[.-.]/; x = \"]/; system(1) # \"\n}", "BEGIN{x = /[[:/; y=\"/; system(1) # \"\n}",
				"BEGIN{print 1,\n\"x\" > \"f\"}", "BEGIN{print 1, # a\n\n\"x\" > \"f\"}",
				"BEGIN{print 1 &&\n1 > \"f\"}", "BEGIN{print 1 ||\n1 > \"f\"}", "BEGIN{print 1 ?\n 2 :\n 3 > \"f\"}"}},
		{jqFilter, []string{".", ".a.env", ".[\"env\"]", "map(.x)", "keys", "{a:.b}", "\"env\""},
			[]string{"env", "$ENV", "env.X", "import \"a\" as a; .", "include \"x\"; .", "input_filename", ". | env",
				"\"\\(env)\"", "debug", "halt"}},
	} {
		for _, s := range c.good {
			if why := c.read(s); why != "" {
				t.Errorf("%q: %s", s, why)
			}
		}
		for _, s := range c.bad {
			if c.read(s) == "" {
				t.Errorf("%q was taken", s)
			}
		}
	}
}
