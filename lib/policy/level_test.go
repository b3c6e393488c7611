package policy

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"clawsh/lib/config"
	"clawsh/lib/record"
)

// ways are the strict policy and the one of the middle way, of the same workspace.
func ways(t testing.TB) (strict, middle *Policy) {
	strict = policyIn(t, "supervised", func(c *config.Config) {
		copied := *c
		copied.Security.Harmless, copied.Security.High = "low", "ask"
		var err error
		if middle, err = New(&copied, OS{}); err != nil {
			t.Fatal(err)
		}
	})
	return strict, middle
}

// lawful holds the laws of the two keys: harmless changes no verdict that is high or blocked, and makes of a medium one
// low or nothing; high asks about what is high, and lets nothing through unasked.
func lawful(t *testing.T, strict, middle *Policy, text string) {
	t.Helper()
	a, b := strict.script(text, newEffort()), middle.script(text, newEffort())
	if a.rank() > 1 && fmt.Sprint(a) != fmt.Sprint(b) || a.rank() <= 1 && b.rank() > a.rank() || b.rank() == 0 &&
		a.rank() == 1 && b.rule != "command.harmless" {
		t.Fatalf("%q: strict finds %+v, the middle way %+v", text, a, b)
	}
	args, err := record.Encode(struct {
		Command string `json:"command"`
	}{text})
	if err != nil || !utf8.ValidString(text) {
		return
	}
	v := middle.Decide(Call{Tool: "shell", Args: args})
	if want := map[int]Outcome{0: Allow, 1: Ask, 2: Ask, 3: Deny}[b.rank()]; v.Outcome != want {
		t.Fatalf("%q is %+v, and decided %v", text, b, v)
	}
}

func FuzzLevels(f *testing.F) {
	strict, middle := ways(f)
	for _, text := range []string{"ls", "ls > x", "echo x > $((1))", "cat a.txt | sort -o -", "uniq a.txt -",
		"sed -i p a.txt", "git log", "env git log", "find . -exec cat {} +",
		"tee </dev/null", "cat a.txt >/dev/null", "x=1", "make", "rm x", "cat ../x", "timeout 5 tail -F a.txt", "ls -L",
		"read x < a.txt", "echo $(sort -o x a.txt)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { lawful(t, strict, middle, text) })
}

// What is proven to only read, and what is not, though it looks like it.
func TestHarmless(t *testing.T) {
	_, p := ways(t)
	for text, want := range map[string]int{
		"ls -la": 0, "cat a.txt | grep x | wc -l": 0, "find . -name x -O3": 2, "find -O3 . -name x": 0,
		"sort -S 1M a.txt": 0, "sort -o - a.txt": 1, "sort -o x a.txt": 1,
		"sort --out=x a.txt": 1, "uniq a.txt": 0, "uniq a.txt x": 1, "uniq a.txt -": 1, "sed -n p a.txt": 0,
		"sed -i p a.txt": 1, "sed -i.bak p a.txt": 1, "sed 'w x' a.txt": 2,
		"awk 1 a.txt": 0, "awk '{print > \"x\"}' a.txt": 2, "tee x": 1, "tee": 1, "touch x": 1, "mkdir x": 1,
		"cp a.txt x": 1, "xargs echo": 1, "find . -exec cat {} +": 3,
		"find . -delete": 2, "find . -type f -exec cat {} +": 0, "find . -exec cat {} + -type f": 3,
		"find . -type f -o -name x -exec cat {} +": 2, "find . ! -type f -exec cat {} +": 2,
		"find . -type f -exec touch {} +": 2, "find . -type f -exec sort {} +": 2,
		"find . -name -type f -exec cat {} +": 2, "cat a.txt | gzip": 0, "gzip a.txt": 2, "gzip -t a.txt": 0,
		"cat < a.txt": 0, "cat <<< x": 0, "cat <<E\nx\nE": 0, "echo x > x": 1, "echo x >> x": 1, "echo x &> x": 1,
		"echo x > /dev/null": 0, "echo x > $((1))": 1,
		"cat $((1))": 1, "echo $(ls > x)": 1, "echo `touch x`": 1, "[[ -e a.txt ]]": 0,
		"for f in *; do echo $f; done": 0, "for f in a*.txt; do touch $f; done": 1, "git status": 0,
		"git diff": 0, "git help log": 2, "timeout 5 git status": 2, "nice git log": 2, "git branch x": 2,
		"git -c a=b log": 2, "ls -L sub/deep": 0, "ls -L": 2,
		"timeout 5 tail -F a.txt": 0, "timeout 0 tail -F a.txt": 2, "timeout +0 tail -F a.txt": 2, "tail -F a.txt": 2,
		"jq '{env}' a.txt": 0, "jq '[env]' a.txt": 2, "jq '{$ENV}' a.txt": 2,
		"jq '{a:env}' a.txt": 2, "cat out/x": 3, "cat passwd": 3, "env": 2, "x=1": 0, "go version": 0, "go test": 2,
		"true && touch x": 1, "if ls; then touch x; fi": 1,
		"cat a.txt | tee x": 1, "gzip -c a.txt": 0, "time ls": 0, "date": 0, "sleep 1": 0, "read x < a.txt": 0,
		"cd sub && ls": 0, "cd sub && touch x": 1,
	} {
		if f := p.script(text, newEffort()); f.rank() != want {
			t.Errorf("%q: %+v, want rank %d", text, f, want)
		}
	}
	for _, argv := range [][]string{{"/usr/bin/sort", "-o", "x", "a.txt"}, {"/usr/bin/touch", "x"},
		{"/usr/bin/sed", "-i", "p", "a.txt"}, {"/usr/bin/make"}, {"/bin/cat", "out/x"},
		{"/usr/bin/env", "git", "log"}} {
		if p.ExecIn(t.Context(), p.root, argv, Permitted{Risk: record.RiskLow}) == nil {
			t.Errorf("%q starts in a script that was permitted to read only", argv)
		}
	}
	if err := p.ExecIn(t.Context(), p.root, []string{"/usr/bin/git", "status"},
		Permitted{Risk: record.RiskLow}); err != nil {
		t.Error(err)
	}
	bare := policyIn(t, "supervised", func(c *config.Config) { c.Security.Harmless, c.Security.Sandbox = "low", "off" })
	for _, text := range []string{"cat a.txt", "sed -n p a.txt", "awk 1 a.txt", "git diff"} {
		if f := bare.script(text, newEffort()); f.rank() != 1 && (f.rank() != 2 || text != "git diff") {
			t.Errorf("without a sandbox nothing holds %s to what was read out of its words: %+v", text, f)
		}
	}
}

// allowed_commands makes any program askable, by its name or by its path in a directory of the system.
func TestListedPrograms(t *testing.T) {
	p := policyIn(t, "supervised", func(c *config.Config) {
		c.Security.AllowedCommands = append(c.Security.AllowedCommands, "make", "python3", "npm", "sh", "go test",
			"git commit", "sudo")
	})
	for text, want := range map[string]int{
		"make": 1, "make -j2 test": 1, "/usr/bin/make test": 1, "/opt/make": 2, "./make": 2, "/usr/bin/../bin/make": 2,
		"make -C /etc": 3, "make -C ../x": 3, "python3 x.py": 1,
		"python3 -c 'print(1)'": 1, "python3 - <<'E'\nprint(1)\nE": 1, "echo x | python3": 1, "curl x | python3": 3,
		"python2 x.py": 2, "python3 /etc/x": 3, "npm test": 1, "sh -c 'rm x'": 3,
		"go test ./...": 1, "go build": 2, "go run .": 2, "go version": 1, "git commit -m x": 1, "git push": 2,
		"git -c a=b commit": 2, "git commit --git-dir=/etc": 3, "'go test'": 2,
		"sudo ls": 3, "make > .git/config": 3, "python3 x.py > ../x": 3, "timeout 60 make": 1, "/bin/ls": 2,
		"eval make": 2, "echo x | perl": 2, "touch make && ./make": 2,
	} {
		f := p.script(text, newEffort())
		if f.rank() != want {
			t.Errorf("%q: %+v, want rank %d", text, f, want)
		}
		if f.rank() == 1 && f.rule == "command.listed" != (text != "go version" && text != "npm test") {
			t.Errorf("%q: %+v", text, f)
		}
	}
	if err := p.ExecIn(t.Context(), p.root, []string{"/usr/bin/make", "test"},
		Permitted{Risk: record.RiskMedium}); err != nil {
		t.Error(err)
	}
}
