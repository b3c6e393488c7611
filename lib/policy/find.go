package policy

import (
	"slices"
	"strings"

	"clawsh/lib/policy/programs"
)

// findRunner judges find: where it begins, that its words only look, and what it runs on what it finds.
func findRunner(j *judge, argv []value, s *state, depth int) finding {
	j.note("find")
	find, _ := programs.Find("find")
	f := low("command.harmless", "runs find, which only reads")
	i := 1
	for ; i < len(argv) && argv[i].known &&
		(argv[i].text == "-P" || argv[i].text == "--" || findLevel(argv[i].text)); i++ {
	}
	for ; i < len(argv); i++ {
		v := argv[i]
		if v.known && (strings.HasPrefix(v.text, "-") || v.text == "!" || v.text == "(") {
			break
		}
		f = stricter(f, prefixed(j.operand(v, programs.Read, s), "find"))
	}
	files := !slices.ContainsFunc(argv,
		func(v value) bool { return slices.Contains([]string{"-o", "-or", "!", "-not", ","}, v.text) })
	regular := false // what is found so far is neither a directory nor a link
	for ; i < len(argv); i++ {
		v := argv[i]
		if !v.known {
			return stricter(f, unknownYet("an argument of find"))
		}
		if v.text == "-exec" {
			end := i + 1
			for end < len(argv) && argv[end].text != ";" && !(argv[end].text == "+" && argv[end-1].text == "{}") {
				end++
			}
			if end == len(argv) || end == i+1 {
				return stricter(f, opaque("find -exec has no ; or +"))
			}
			if !files || !regular || !j.on.walled() {
				f = stricter(f, medium("command.allowlist", "runs a program on the files found, including links"))
			}
			f = stricter(f, j.withAnyWords(argv[i+1:end], s, depth, "{}"))
			if n, ok := findNames(argv[:i]); ok && (f.rank() < 2 || s.lost) &&
				!programs.Is(argv[i+1].text, programs.Prints) {
				f = stricter(f, j.links(n, s))
			}
			if slices.ContainsFunc(argv, func(v value) bool { return v.text == "l" || v.text == "-xtype" }) {
				f = stricter(f, opaque("find passes links to a program that follows them"))
			}
			i = end
			continue
		}
		regular = regular || v.text == "-type" && i+1 < len(argv) && argv[i+1].text == "f"
		test, ok := find.Option(v.text)
		if !ok {
			return stricter(stricter(f, high("command.option", "find: unknown argument %+q", bounded(v.text))),
				j.anyPaths(argv[i:], s))
		}
		if !test.Value {
			continue
		}
		if i++; i < len(argv) {
			if !argv[i].known && test.Kind != programs.Text {
				return stricter(f, unknownYet("a file name of find"))
			}
			f = stricter(f, prefixed(j.operand(argv[i], test.Kind, s), "find "+v.text))
		}
	}
	return f
}

// findLevel tells whether a word is how much find may optimise.
func findLevel(word string) bool {
	return len(word) == 3 && strings.HasPrefix(word, "-O") && isNumber(word[2:])
}

// findValues tells how many values a word of find has.
func findValues(word string) int {
	find, _ := programs.Find("find")
	if test, _ := find.Option(word); test.Value {
		return 1
	}
	return 0
}
