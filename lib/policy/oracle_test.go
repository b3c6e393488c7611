package policy

import (
	"os/exec"
	"strings"
	"testing"

	"clawsh/test/need"
)

// Pieces that scripts are put together from, so that most of them say something.
var (
	sedPieces = []string{"s", "/", "a", "b", "e", "w", "r", "R", "W", "\n", ";", "}", "{", "\\", "[", "]", "^", "y",
		"1", ",", "$", "!", "p", "d", " ", "x", "i", "c", "g", "&", "|", "~", "+", "I", "M", ":", "t", "n", "#", "="}
	awkPieces = []string{"print ", "printf ", "$1", "$0", "x", "\"a\"", "1", ">", ">>", "|", "|&", "(", ")", "[", "]",
		"{", "}", ";", "\n", "/", "/a/", "/[/]/", "+", "++", "--", "-", "*", "=", "==", "!", "~", "&&", "||",
		"?", ":", ",", "in ", "if(1) ", "while(0) ", "getline ", "system", "BEGIN", "END", " ", "\\\n", "#", "@", "x=",
		"a[1]", "%", "<", "func f(){", "return ", "\"", "$", "NF", "length", "close", "exit;", "else ", "do ",
		"[[:alpha:]/", "for(;;) "}
)

func assemble(pieces []string, seed []byte) string {
	var b strings.Builder
	for _, n := range seed[:min(len(seed), 24)] {
		b.WriteString(pieces[int(n)%len(pieces)])
	}
	return b.String()
}

// FuzzSed: GNU sed itself, which can be told to refuse the commands that run programs and open files, has nothing to
// refuse in a script that was taken for mere editing.
func FuzzSed(f *testing.F) {
	if out, _ := exec.Command("sed", "--sandbox", "e", "/dev/null").
		CombinedOutput(); !strings.Contains(string(out), "sandbox mode") {
		need.Skip(f, "sed", "there is no GNU sed with --sandbox")
	}
	for i := range byte(60) {
		f.Add([]byte{i, i * 7, 24, i * 3, 9, 4, i + 11, 1, i * 5})
		f.Add([]byte{35 + i%3, i, 24, 4 + i%5, 10, i * 3})
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		script := assemble(sedPieces, seed)
		if script == "" || sedWhy(script) != "" || !strings.ContainsAny(script, "ewrRW") {
			return
		}
		out, _ := exec.Command("sed", "--sandbox", "-n", "-e", script, "/dev/null").CombinedOutput()
		if strings.Contains(string(out), "sandbox mode") {
			t.Errorf("%q: %s", script, out)
		}
	})
}

// FuzzAwk is the same for awk, with gawk as the judge.
func FuzzAwk(f *testing.F) {
	if out, _ := exec.Command("gawk", "--sandbox", "BEGIN{system(1)}").
		CombinedOutput(); !strings.Contains(string(out), "sandbox mode") {
		need.Skip(f, "gawk", "there is no gawk with --sandbox")
	}
	for i := range byte(60) {
		f.Add([]byte{15, i % 2, 5, 7 + i%4, i, 5, 16})
		f.Add([]byte{15, i, i * 3, i * 7, 7 + i%3, 5, 16, i})
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		program := assemble(awkPieces, seed)
		if awkProgram(program) != "" || !strings.ContainsAny(program, "|>@<gs") || strings.Contains(program, "while") ||
			strings.Contains(program, "do ") {
			return
		}
		cmd := exec.CommandContext(t.Context(), "gawk", "--sandbox", "--", program)
		cmd.Stdin = strings.NewReader("a b\n")
		if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "sandbox mode") {
			t.Errorf("%q: %s", program, out)
		}
	})
}

func sedWhy(script string) string {
	why, _ := sedScript(script)
	return why
}
