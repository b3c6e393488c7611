package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/obeyed"
	"clawsh/test/need"
)

// wordRoutes are ways in which a command writes a file whose name stands in it: NAME is the file. Some stand in a small
// language of their own, some are words that another command prints, some are words of programs that no rule is for.
var wordRoutes = []string{"sed -n 'w NAME' a", "sed -n 'wNAME' a", "sed 's/x/y/w NAME' a",
	"sed -e p -e 's,x,y,gw NAME' a", "sed '1{w NAME\n}' a",
	"sed 'w b\nw NAME' a", `sed "/x/w NAME" a`, `awk '{print > "NAME"}' a`, `awk '{print >> "NAME"}' a`,
	`awk '{print | "cat >NAME"}' a`,
	`gawk 'BEGIN{printf "x" > "NAME"}'`, `awk '{system("cp a NAME")}' a`, "find . -name a -fprint NAME",
	"find . -name a -fprint0 NAME",
	"find . -fprintf NAME %p", "find . -fls NAME", "find . -name a -exec xxd -r a NAME \\;", "xxd -r a NAME",
	"echo NAME | xargs cp a", "printf '%s\\n' NAME | xargs cp a",
	"printf 'NAME' | xargs touch", "echo a NAME | xargs mv", "echo NAME | cat | xargs -n1 cp a",
	"x=NAME; echo $x | xargs cp a", "xargs cp a <<< NAME", "cat <<< NAME | xargs cp a",
	"echo NAME | xargs -I{} sh -c 'cp a {}'", "echo NAME | xargs cp cat", "echo NAME | timeout 5 xargs cp a",
	"sort -o NAME", "sort -oNAME a", "sort --output=NAME a", "tar -xf a.tar NAME", "tar xf a.tar -C . NAME",
	"split -l 1 a NAME", "csplit -f NAME a 1",
	"uniq a NAME", "gzip -d NAME.gz NAME", "patch NAME a", "patch -o NAME a b", "patch -oNAME a", "git mv a NAME",
	"git checkout -- NAME", "git restore NAME", "git -c a=b mv a NAME",
	"git checkout HEAD~1 -- NAME", "git archive -o NAME HEAD", "git show --output=NAME", "listedtool NAME",
	"listedtool --out=NAME", "listedtool -x 'to NAME'", "unheardof -o NAME", "unheardof 'write(\"NAME\")'",
	"python3 -c 'open(\"NAME\",\"w\")'", "perl -e 'open F, q{>}, q{NAME}'", "sqlite3 x '.output NAME'",
	"jq -n 1 --out NAME", "date -r a --x NAME", "nice xxd -r a NAME"}

// TestObeyedWords holds every row of the table to the routes on which only a word, or a part of one, tells which file
// it is.
func TestObeyedWords(t *testing.T) {
	full := policyIn(t, "full", func(c *config.Config) {
		c.Security.AllowedCommands = append(c.Security.AllowedCommands, "listedtool", "xxd", "gzip", "split", "tar",
			"sed", "awk", "gawk", "find", "xargs", "touch")
	})
	if err := os.WriteFile(filepath.Join(full.root, "a"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range obeyed.Rows() {
		for _, pattern := range row.Names {
			name := strings.ReplaceAll(pattern, "*", "x")
			if name == ".git" {
				continue // that has rules of its own
			}
			for p, place := range []string{name, "sub/" + name} {
				for i, route := range wordRoutes {
					if !need.OneIn(6, i+len(name)+p) {
						continue // each way is taken to many names, and each name in many ways
					}
					script := strings.ReplaceAll(route, "NAME", place)
					v := full.Decide(Call{Tool: "shell", Args: args(t, map[string]string{"command": script})})
					if v.Outcome == Allow {
						t.Errorf("%s: %s, %s: %s", script, v.Outcome, v.Rule, v.Reason)
					}
					if v.Outcome == Ask && len(v.Obeyed) == 0 {
						t.Errorf("%s: the question names no file", script)
					}
				}
			}
		}
	}
}

// TestObeyedWordsRead: what only reads such files, or only speaks of them, stays what it was.
func TestObeyedWordsRead(t *testing.T) {
	full := policyIn(t, "full", nil)
	for _, script := range []string{"cat .envrc", "ls .vscode", "grep x .npmrc", "cat HEAD", "head -3 .bashrc | wc -l",
		"diff .envrc a", "sed -n 1p .envrc", "awk 1 .envrc",
		"sed -n '/w .envrc/p' a", "sort .envrc", "echo .envrc", "echo 'see .envrc' > a", "find . -name .envrc",
		"find . -name .npmrc -exec cat {} +", "find . -name .envrc | xargs cat",
		"echo .envrc | xargs cat", "grep -rn 'x .envrc' .", "git diff HEAD", "git reset HEAD a", "git add .envrc",
		"git commit -m 'use .envrc'", "git log -- .npmrc", "git push origin HEAD",
		"test -f .envrc && cat .envrc", "for f in .envrc .npmrc; do cat \"$f\"; done",
		"for f in $(ls); do grep x $f .npmrc; done", "make", "python3 a.py", "git rebase HEAD~2", "git checkout HEAD"} {
		v := full.Decide(Call{Tool: "shell", Args: args(t, map[string]string{"command": script})})
		if v.Outcome != Allow {
			t.Errorf("%s: %s, %s: %s", script, v.Outcome, v.Rule, v.Reason)
		}
	}
}
