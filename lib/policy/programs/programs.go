// Package programs is what the policy knows of programs, as data: a file of this directory for each of them, or for
// several that are alike. A line is a keyword with its words, an option, or a comment (#).
//
//	program rg            begins a program that is judged by what follows; further names share it
//	wrapper nice          begins one that runs the command in its arguments
//	other curl            begins one of which only what follows is known
//	rule NAME             a rule in Go judges it, which has that name in lib/policy
//	check NAME            a function in Go looks at what this file cannot say
//
// What its words are:
//
//	-a                    an option without a value
//	-n=number             one with a value: text, number, read, write, or tree (read, and all that
//	                      links in it lead to)
//	--color[=text]        one whose value is glued to it, if it has any
//	never --pid           one that is refused: abbreviations of others must not be taken for it, or for them
//	whole --name-only     one of those above, which cannot be abbreviated
//	word !                a word that is neither an option nor an operand
//	digits                a number may stand for an option: -20
//	operands text read    what words that are not options are, in order; the last is for all further ones. Else: read
//	last write            what the last of several is
//	most 2                how many there may be
//
// What it is, of all its names or of those that follow:
//
//	reads                 it only reads, with every option and word that is understood
//	any-words             it only reads, whatever its words are
//	prints                it does nothing with its words but print them
//	shell, downloads      what it is
//	runs-text             it hands a word of its own to a shell
//
// Where the command begins that a wrapper runs, for what is blocked:
//
//	wraps 1               words of its own before the command
//	flags fpv             short options without a value; those above count, too
//	assigns               NAME=VALUE may stand before the command
//	lookup vV             short options with which it runs nothing
//
// What the commands of git are:
//
//	options diff          begins options that several commands have
//	command log           begins a command that only looks; it takes digits and operands as the program does
//	include diff          the options of that name
//	first list show       it only looks if its first operand is one of these, or if it has none
//	not_first expire      it only looks if its first operand is none of these
//	keeps add commit      commands that write no file whose name they are given, or none but the repository's
//
// Every program has examples, which TestProgramsHoldTheirExamples judges:
//
//	match rg -n TODO      it is understood: medium risk at most
//	not_match rg -R x     it is high or blocked
//
// An option that is not here is high. Options that follow links, start programs, read names from files or write where
// no operand says so are left out.
package programs

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
)

//go:embed *.txt
var files embed.FS

// Kind is what a word is to a program.
type Kind int

// Kinds of words.
const (
	Text   Kind = iota // any text
	Number             // a number, with a sign or a unit
	Read               // a file or directory to read
	Tree               // one to read with all that links in it lead to
	Write              // one to write or make
)

// Trait is something that a program is.
type Trait string

// Traits.
const (
	Reads     Trait = "reads"
	AnyWords  Trait = "any-words"
	Prints    Trait = "prints"
	Shell     Trait = "shell"
	Downloads Trait = "downloads"
	RunsText  Trait = "runs-text"
)

// How is what is known of a program: how its description begins.
type How string

// What a description begins with.
const (
	Modelled How = "program"
	Wrapper  How = "wrapper"
	Other    How = "other"
)

// Program is what is known of one, or of several that are alike.
type Program struct {
	Names []string
	How   How
	Rule  string // what judges it in Go; "" is its options and operands
	Check string // what looks besides

	Options
	Digits   bool
	Operands []Kind
	Last     Kind
	HasLast  bool
	Most     int // 0 is any

	Wraps           int
	Flags, Lookup   string
	Assigns         bool
	Commands        map[string]*Command
	Keeps           []string
	Match, NotMatch []string
	traits          map[Trait][]string
}

// Command is a command of a program that only looks, but for these first operands.
type Command struct {
	Program
	First, NotFirst []string
	HasFirst        bool
}

// Is tells whether one of a program's names is something.
func (p *Program) Is(name string, t Trait) bool { return slices.Contains(p.traits[t], name) }

// Is tells whether a program is something.
func Is(name string, t Trait) bool {
	p, ok := Find(name)
	return ok && p.Is(name, t)
}

// Find is what is known of a program. Its file is read when it is first asked for: most calls need few.
func Find(name string) (*Program, bool) {
	read, ok := index()[name]
	if !ok {
		return nil, false
	}
	for _, p := range read() {
		if slices.Contains(p.Names, name) {
			return p, true
		}
	}
	return nil, false
}

// All is what is known of all programs, in the order of their files.
func All() []*Program {
	var out []*Program
	for _, e := range entries() {
		out = append(out, must(parse(e, text(e)))...)
	}
	return out
}

// index is where each program is described. Only the lines that begin a description are looked at, in one buffer: this
// is done for every call.
var index = sync.OnceValue(func() map[string]func() []*Program {
	out := make(map[string]func() []*Program, 256)
	buffer := make([]byte, 8192)
	for _, e := range entries() {
		read := sync.OnceValue(func() []*Program { return must(parse(e, text(e))) })
		for rest := beginning(e, buffer); len(rest) > 0; {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
			if len(line) == 0 || bytes.IndexByte([]byte("pwo"), line[0]) < 0 {
				continue
			}
			if key, names, _ := strings.Cut(string(line), " "); begins(key) {
				for name := range strings.FieldsSeq(names) {
					out[name] = read
				}
			}
		}
	}
	return out
})

// beginning is the text of a file, in the buffer if it fits.
func beginning(file string, buffer []byte) []byte {
	if n, err := io.ReadFull(must(files.Open(file)), buffer); errors.Is(err, io.ErrUnexpectedEOF) {
		return buffer[:n]
	}
	return []byte(text(file))
}

func begins(key string) bool {
	return key == string(Modelled) || key == string(Wrapper) || key == string(Other)
}

// entries are the names of the files, in order.
func entries() []string {
	list := must(files.ReadDir("."))
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.Name()
	}
	return out
}

func text(file string) string { return string(must(files.ReadFile(file))) }

// must is for what is part of the program: TestFiles reads all of it.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
