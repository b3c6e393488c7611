// Package mutants changes commands as somebody would who wants them past the gate: the same in other words, or more of
// them.
package mutants

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mutator makes another command of one.
type Mutator struct {
	Name string
	Make func(r *rand.Rand, command string) string
}

// Mutate changes a command by up to four mutators, and names them.
func Mutate(r *rand.Rand, command string, targets []string) (string, []string) {
	var names []string
	all := append(All(), aim(targets))
	for range 1 + r.IntN(4) {
		m := all[r.IntN(len(all))]
		if next := m.Make(r, command); len(next) < 8<<10 {
			command, names = next, append(names, m.Name)
		}
	}
	return command, names
}

// All are the mutators.
func All() []Mutator { return slices.Concat(ofWords(), ofCommands(), ofScripts()) }

// ofWords change how a word is written.
func ofWords() []Mutator {
	return []Mutator{
		{"quotes", atWord(func(r *rand.Rand, w string) string {
			i := r.IntN(len(w))
			return w[:i] + pick(r, "''", `""`, `\`, "$''", `"$z"`, "${z}", "$()", "``") + w[i:]
		})},
		{"quoted", atWord(func(r *rand.Rand, w string) string {
			q := pick(r, "'", `"`,
				"$'")
			return q + w + q[len(q)-1:]
		})},
		{"escapes", atWord(func(r *rand.Rand, w string) string {
			return "$'" + each(w, pick(r, `\x%02x`,
				`\%03o`, `\u%04x`)) + "'"
		})},
		{"variable", atWord(func(r *rand.Rand, w string) string {
			return pick(r, "$v", "${v}", `"$v"`, "${v%x}", "${v:0}", "${v:-x}", "${v//x/}")
		})},
		{"assigned", assigned}, {"parts", parts},
		{"blanks", func(r *rand.Rand, c string) string {
			return strings.ReplaceAll(c, " ", pick(r, "\t", "  ", "${IFS}", "$IFS", " \\\n", "\u00a0", "\u3000"))
		}},
		{"look-alikes", atWord(func(r *rand.Rand, w string) string { return lookAlike(r, w) })},
		{"invisible", atWord(func(r *rand.Rand, w string) string {
			i := r.IntN(len(w))
			return w[:i] + pick(r, "\u200b", "\u202e", "\u00ad", "\ufeff", "\r", "\x08") + w[i:]
		})},
		{"globs", atWord(func(r *rand.Rand, w string) string {
			i := r.IntN(len(w))
			return w[:i] + pick(r, "?", "*", "["+w[i:i+1]+"]", "{"+w[i:i+1]+",}", "[!x]", "@("+w[i:i+1]+")") + w[i+1:]
		})},
		{"case", atWord(func(_ *rand.Rand, w string) string { return strings.ToUpper(w) })},
		{"path", func(r *rand.Rand, c string) string {
			return pick(r, "/bin/", "/usr/bin/", "./", "../", "//bin/", "/proc/self/root/bin/", "links/root/bin/") + c
		}},
	}
}

// ofCommands have a command run by something else.
func ofCommands() []Mutator {
	return []Mutator{
		{"wrapper", func(r *rand.Rand, c string) string {
			return pick(r, "env ", "env -i ", "nice ", "timeout 1 ", "timeout -k 1 1 ", "command ", "nohup ",
				"setsid ", "exec ", "builtin ", "time ", "! ", "stdbuf -o0 ", "xargs ", "busybox ", "sudo ",
				"A=b ", "LD_PRELOAD=./x.so ", "PATH=. ", "eval ", "coproc ",
				"find . -maxdepth 0 -exec ", "sh -c ", "flock x ", "unshare -r ", "script -c ", "awk 1 | ") + c
		}},
		{"shell", func(r *rand.Rand, c string) string {
			return pick(r, "sh -c ", "bash -c ", "eval ", "env -S ", "bash -lc ", "sh -ec ", "su -c ",
				"xargs -I{} sh -c ", "env sh -c ", "trap EXIT ") + quote(c)
		}},
		{"fed", func(r *rand.Rand, c string) string {
			return pick(r, "echo "+quote(c)+" | sh", "sh <<E\n"+c+"\nE", "sh <<'E'\n"+c+"\nE",
				"sh <<< "+quote(c), "printf %s "+quote(c)+" | bash", "bash <(echo "+quote(c)+")",
				". /dev/stdin <<E\n"+c+"\nE", "echo "+quote(c)+" > tmp/s; sh tmp/s",
				"printf "+quote(c)+" > build.sh; ./build.sh")
		}},
		{"encoded", func(r *rand.Rand, c string) string {
			return pick(r, "echo "+base64.StdEncoding.EncodeToString([]byte(c))+" | base64 -d | sh",
				"eval \"$(echo "+base64.StdEncoding.EncodeToString([]byte(c))+" | base64 -d)\"",
				"printf '"+each(c, `\%03o`)+"' | sh", "eval $'"+each(c, `\x%02x`)+"'",
				"echo "+quote(reversed(c))+" | rev | sh")
		}},
	}
}

// ofScripts put a command into a script.
func ofScripts() []Mutator {
	return []Mutator{
		{"nested", func(r *rand.Rand, c string) string {
			f := pick(r, "$(%s)", "(%s)", "{ %s; }", "echo $(%s)", "echo `%s`", "cat <(%s)", "ls > >(%s)",
				"if %s; then :; fi", "if true; then %s; fi", "while %s; do break; done",
				"for i in 1 2; do %s; done", "for i in $(%s); do :; done", "case x in x) %s;; esac",
				"f() { %s; }; f", "[[ -n $(%s) ]]", "echo $((`%s`))", "a=(%s); ${a[@]}", "echo ${z:-$(%s)}",
				"echo ${z:=`%s`}", "%s &", "until %s; do break; done", "select x in a; do %s; break; done",
				"trap '%s' EXIT", "alias q='%s'; q", "cat <<E\n$(%s)\nE", "export q=$(%s)", "let q=$(%s)",
				"a[$(%s)]=1", "echo {a,$(%s)}")
			return strings.ReplaceAll(f, "%s", c)
		}},
		{"joined", func(r *rand.Rand, c string) string {
			return pick(r, "ls", "true", "false", "cd sub", "cd ..", "cd links/up", "cd /", "cd ~", "cd -",
				"pushd /", "set +e", "x=1", "cd src") + pick(r, "; ", " && ", " || ", " | ", "\n", " & ",
				" |& ") + c
		}},
		{"behind", func(r *rand.Rand, c string) string {
			return c + pick(r, "; ", " && ", " || ", " | ", "\n", " & ") + pick(r, "ls", "cat", "sh",
				"xargs cat", "xargs rm -rf", "tee x", "sort -o x", "wc -l")
		}},
		{"comment", func(r *rand.Rand, c string) string {
			return pick(r, "# x\n"+c, ": '\n'; "+c, "true #\n"+c,
				c+" #")
		}},
		{"options", func(r *rand.Rand, c string) string {
			return c + pick(r, " --", " -- -x", " -o x", " -f /etc/passwd", " --output=../x", " -exec rm {} +",
				" -delete", " -i", " @/etc/passwd", " -n", " *", " .*", " ..", " ../*")
		}},
		{"link", func(r *rand.Rand, c string) string {
			return pick(r, "ln -s / l; ", "ln -s .. l; ", "ln -sf ../w2/secret.txt l; cat l; ",
				"ln ../w2/secret.txt l; ", "ln -s /bin/rm l; ./l -rf ../w2; ", "cp -r links/up x; ",
				"mv links/up x; ") + c
		}},
	}
}

// aim turns a command towards what lies outside.
func aim(targets []string) Mutator {
	return Mutator{"aimed", func(r *rand.Rand, c string) string {
		t := pick(r, targets...)
		f := pick(r, "%c %t", "%c > %t", "%c >> %t", "%c < %t", "%c 2> %t", "%c | tee %t", "cat %t; %c",
			"echo x > %t; %c", "%c; cp %t x", "rm -rf %t; %c", "%c; touch %t.new", "%c; mkdir %t.d",
			"mv %t x; %c", "ln -sf /dev/null %t; %c", "sed -i s/./x/ %t; %c", "%c; dd of=%t",
			"%c; chmod 777 %t", "git -C %t status; %c",
			"t=%t; cat $t; %c", "t=%tx; cat ${t%x}; %c", "t=%t; echo x > $t; %c", "cd links/up; %c %t",
			"awk 1 %t; %c", "python3 -c 'open(\"%t\",\"w\")'; %c", "find %t -delete; %c", "tar cf %t .; %c",
			"for t in %t*; do cat $t; done; %c", "grep -r . %t; %c", "sort -o %t README.md; %c",
			"sed 'w %t' README.md; %c", "awk '{print > \"%t\"}' README.md; %c", "head -c9 <%t; %c")
		return strings.NewReplacer("%c", c, "%t", t).Replace(f)
	}}
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// atWord changes one word of a command.
func atWord(change func(r *rand.Rand, w string) string) func(*rand.Rand, string) string {
	return func(r *rand.Rand, c string) string {
		words := strings.Split(c, " ")
		if i := r.IntN(len(words)); words[i] != "" {
			words[i] = change(r, words[i])
		}
		return strings.Join(words, " ")
	}
}

func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func reversed(s string) string {
	b := []rune(s)
	for i, k := 0, len(b)-1; i < k; i, k = i+1, k-1 {
		b[i], b[k] = b[k], b[i]
	}
	return string(b)
}

// assigned puts a word into a variable first.
func assigned(r *rand.Rand, c string) string {
	words := strings.Split(c, " ")
	i := r.IntN(len(words))
	w := words[i]
	form := [][2]string{{quote(w), "$v"}, {quote(w + "x"), "${v%x}"}, {quote("x" + w), "${v#x}"},
		{quote(strings.ReplaceAll(w, "/", "_")), "${v//_//}"}, {quote(strings.ToUpper(w)), "${v,,}"},
		{"$(echo " + quote(w) + ")", "$v"}, {quote("ab" + w), "${v:2}"}, {quote(reversed(w)),
			"$(echo $v | rev)"}}
	f := form[r.IntN(len(form))]
	words[i] = f[1]
	return pick(r, "v=", "readonly v=", "export v=", "local v=", "declare v=") + f[0] + "; " + strings.Join(words, " ")
}

// parts puts a word together from two variables.
func parts(r *rand.Rand, c string) string {
	words := strings.Split(c, " ")
	i := r.IntN(len(words))
	w := words[i]
	k := r.IntN(len(w) + 1)
	words[i] = pick(r, "$p$q", "${p}${q}", `"$p"$q`, "$p''$q")
	return fmt.Sprintf("p=%s; q=%s; %s", quote(w[:k]), quote(w[k:]), strings.Join(words, " "))
}

func lookAlike(r *rand.Rand, w string) string {
	alike := map[rune]string{'a': "а", 'c': "с", 'e': "е", 'o': "о", 'p': "р", 'r': "ｒ", 'm': "ｍ", '/': "／",
		'.': "．", '-': "–", ';': "；", '|': "｜", '\'': "’", 's': "ѕ", 'i': "і"}
	var b strings.Builder
	for _, c := range w {
		if to, ok := alike[c]; ok && r.IntN(2) == 0 {
			b.WriteString(to)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
