package programs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFiles: every file can be read, is named after the first program in it if that is the only one, and no program is
// described twice.
func TestFiles(t *testing.T) {
	seen := map[string]string{}
	for _, file := range entries() {
		list, err := parse(file, text(file))
		if err != nil {
			t.Error(err)
			continue
		}
		if len(list) == 1 && list[0].How != Other && list[0].Names[0]+".txt" != file {
			t.Errorf("%s describes %s", file, list[0].Names[0])
		}
		for _, p := range list {
			for _, name := range p.Names {
				if seen[name] != "" {
					t.Errorf("%s is described in %s and in %s", name, seen[name], file)
				}
				seen[name] = file
				if found, ok := Find(name); !ok || !slices.Contains(found.Names, name) {
					t.Errorf("%s is not found", name)
				}
			}
		}
	}
	if len(seen) < 150 {
		t.Errorf("only %d programs", len(seen))
	}
	for _, name := range []string{"", "program", "rm", "Cat", "grep egrep", "../cat", "-n"} {
		if _, ok := Find(name); ok || Is(name, Reads) {
			t.Errorf("%q is found", name)
		}
	}
}

// good is a file that has nearly everything.
const good = `# comment
program rg  ripgrep
reads
any-words rg
operands text read
last write
most 3
digits
check pattern-first

-n
-A=number
--color[=text]
--colors=text
word !
never --pre
whole --colors
match rg x
not_match rg --pre=x y

wrapper chronic
wraps 1
-e
flags v
lookup V
assigns

other curl
downloads`

func TestParse(t *testing.T) {
	list, err := parse("rg.txt", good)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	p, w := list[0], list[1]
	if !p.Is("rg", Reads) || !p.Is("ripgrep", Reads) || !p.Is("rg", AnyWords) ||
		p.Is("ripgrep", AnyWords) || p.Is("rg", Shell) {
		t.Errorf("traits: %+v", p.traits)
	}
	if !slices.Equal(p.Operands, []Kind{Text, Read}) || !p.HasLast || p.Last != Write || p.Most != 3 || !p.Digits ||
		p.Check != "pattern-first" {
		t.Errorf("%+v", p)
	}
	if w.How != Wrapper || w.Wraps != 1 || w.Flags != "ve" || w.Lookup != "V" || !w.Assigns {
		t.Errorf("%+v", w)
	}
	if n, _ := p.Option("-A"); !n.Value || n.Glued || n.Kind != Number {
		t.Errorf("-A: %+v", n)
	}
	if c, _ := p.Option("--color"); !c.Value || !c.Glued || c.Kind != Text {
		t.Errorf("--color: %+v", c)
	}
	if got := strings.Join(p.OptionNames(), " "); got != "-n -A --color --colors" {
		t.Errorf("understood: %s", got)
	}
	for short, want := range map[string]string{"--color": "--color", "--colors": "--colors", "--pr": "--pre",
		"-n": "-n",
		"!":  "!", "--col": "", "--": "", "--x": ""} {
		if full, ok := p.Full(short); ok != (want != "") || ok && full != want {
			t.Errorf("%s: %q %v, want %q", short, full, ok, want)
		}
	}
	if _, ok := list[0].Full("--colo"); ok {
		t.Error("--colo is two options")
	}
}

// TestParseGit: a program's commands share options, and take digits and operands as it does.
func TestParseGit(t *testing.T) {
	text := "program git\noperands text\nkeeps add\noptions diff\n-p\n--name-only\n" +
		"options log\ninclude diff\nwhole --name-only\n-n=number\n" +
		"command log\ninclude log\ncommand diff\ninclude diff\ncommand stash\nfirst list show\ncommand branch\nfirst\n" +
		"command reflog\nnot_first expire\nmatch git log\nnot_match git push"
	list, err := parse("git.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	c := list[0].Commands
	if _, ok := c["log"].Full("--name-o"); ok || len(c["log"].OptionNames()) != 3 ||
		!slices.Equal(c["log"].Operands, []Kind{Text}) {
		t.Errorf("log: %+v", c["log"])
	}
	if full, ok := c["diff"].Full("--name-o"); !ok || full != "--name-only" || len(c["diff"].OptionNames()) != 2 {
		t.Errorf("diff: %+v", c["diff"])
	}
	if !c["branch"].HasFirst || len(c["branch"].First) > 0 ||
		!slices.Equal(c["stash"].First, []string{"list", "show"}) ||
		c["log"].HasFirst || !slices.Equal(c["reflog"].NotFirst, []string{"expire"}) ||
		!slices.Equal(list[0].Keeps, []string{"add"}) {
		t.Errorf("%+v", c)
	}
}

// TestParseRefuses: whatever is not understood is refused, with the file and the line.
func TestParseRefuses(t *testing.T) {
	const examples = "\nmatch x\nnot_match x"
	for text, want := range map[string]string{
		"reads":                           "x.txt:1: want program, wrapper or other first",
		"-n":                              "x.txt:1: want program",
		"program":                         "x.txt:1: program has no name",
		"program Rg" + examples:           `x.txt:1: "Rg" is not the name of a program`,
		"program a/b" + examples:          `x.txt:1: "a/b" is not`,
		"program a a" + examples:          "x.txt:1: a is described twice",
		"other a\n\nother b a":            "x.txt:3: a is described twice",
		"program rg":                      "x.txt:1: rg needs examples of both kinds",
		"program rg\nmatch rg x":          "x.txt:2: rg needs examples",
		"program rg\nother x":             "x.txt:2: rg needs examples",
		"other a\nreads all":              `x.txt:2: reads: "all" is not described here`,
		"other a\nreads\n#\nreads":        "x.txt:4: reads is given twice",
		"other a\nwrites":                 `x.txt:2: unknown keyword "writes"`,
		"other a\nReads":                  `x.txt:2: unknown keyword "Reads"`,
		"other a\n-n -m":                  `x.txt:2: want one option a line, not "-m" after -n`,
		"other a\n-n\n-n":                 "x.txt:3: -n is given twice",
		"other a\n-n\n-n=text":            "x.txt:3: -n is given twice",
		"other a\n-n=file":                `x.txt:2: "file" is not a kind of word: want text, number, read, tree or write`,
		"other a\n-n=":                    `x.txt:2: "" is not a kind`,
		"other a\n--x[=text":              `x.txt:2: "--x[=text" is not an option`,
		"other a\n--x=text]":              `x.txt:2: "--x=text]" is not an option`,
		"other a\n--x[]":                  `x.txt:2: "--x[]" is not an option`,
		"other a\n-":                      `x.txt:2: "-" is not an option`,
		"other a\n--":                     `x.txt:2: "--" is not an option`,
		"other a\n-é":                     `x.txt:2: "-é" is not an option`,
		"other a\n--x?=text":              `x.txt:2: "--x?=text" is not an option`,
		"other a\nnever -n":               "x.txt:2: never wants a long option",
		"other a\nnever --x=text":         "x.txt:2: never wants a long option",
		"other a\nnever":                  "x.txt:2: never wants one word",
		"other a\nwhole --xy":             "x.txt:2: whole wants an option that is given above",
		"other a\nnever --xy\nwhole --xy": "x.txt:3: whole wants an option",
		"other a\nword":                   "x.txt:2: word wants one word",
	} {
		refuses(t, text, want)
	}
}

// TestParseRefusesValues is the same for what follows keywords, and for sections.
func TestParseRefusesValues(t *testing.T) {
	for text, want := range map[string]string{
		"other a\ndigits yes":                              "x.txt:2: digits stands alone",
		"other a\nmost 0":                                  `x.txt:2: "0" is not a number from 1 to 9`,
		"other a\nmost many":                               `x.txt:2: "many" is not a number`,
		"other a\nwraps -1":                                `x.txt:2: "-1" is not a number`,
		"other a\noperands":                                "x.txt:2: want a kind of word",
		"other a\noperands file":                           `x.txt:2: "file" is not a kind of word`,
		"other a\nlast":                                    "x.txt:2: want a kind of word",
		"other a\nlast read write":                         "x.txt:2: last wants one kind of word",
		"other a\nrule":                                    "x.txt:2: rule wants one word",
		"other a\ncheck a b":                               "x.txt:2: check wants one word",
		"other a\nmatch":                                   "x.txt:2: match has no command",
		"other a\nfirst x":                                 "x.txt:2: first belongs to a command",
		"other a\ninclude x":                               `x.txt:2: there are no options "x" above`,
		"other a\noptions x\ninclude x":                    `x.txt:3: there are no options "x" above`,
		"other a\noptions x\noptions x":                    "x.txt:3: options x is given twice",
		"other a\ncommand x\ncommand x":                    "x.txt:3: command x is given twice",
		"other a\ncommand x\nreads":                        "x.txt:3: reads belongs before the first options or command",
		"other a\noptions x\n-n\ncommand y\n-n\ninclude x": "x.txt:6: -n is given twice",
		"other a\noptions x\nother b\ninclude x":           `x.txt:4: there are no options "x" above`,
		"other a\nmatch x\x00":                             "x.txt:2: it holds a character that cannot be seen",
	} {
		refuses(t, text, want)
	}
}

func refuses(t *testing.T, text, want string) {
	t.Helper()
	if _, err := parse("x.txt", text); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q: %v, want %s", text, err, want)
	}
}

var place = regexp.MustCompile(`^x\.txt:\d+: .`)

// FuzzParse: whatever a file holds, it is read or refused with its line; and what is read means the same with blanks
// and comments.
func FuzzParse(f *testing.F) {
	f.Add(good)
	for _, file := range entries() {
		f.Add(text(file))
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse("x.txt", text)
		if err != nil {
			if !place.MatchString(err.Error()) {
				t.Errorf("the error names no line: %v", err)
			}
			return
		}
		again, err := parse("x.txt", "# x\n\n"+strings.ReplaceAll(text, "\n", "\n\n  "))
		if err != nil || len(again) != len(list) {
			t.Fatalf("with blanks: %d programs, %v, want %d", len(again), err, len(list))
		}
		for i, p := range list {
			if !slices.Equal(p.Names, again[i].Names) || !slices.Equal(p.OptionNames(), again[i].OptionNames()) ||
				p.Flags != again[i].Flags {
				t.Errorf("with blanks: %+v, want %+v", again[i], p)
			}
			for _, name := range p.OptionNames() {
				if full, ok := p.Full(name); !ok || full != name {
					t.Errorf("%s: %s is %q", p.Names[0], name, full)
				}
			}
		}
	})
}
