package tool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"clawsh/test/need"
)

// variableScripts makes scripts that set, export, unset, hide and freeze variables in each kind of scope, and have a
// program show what it sees of them. Left out is where the interpreter differs from bash in what is exported: it
// forgets that of D (a loop's variable, what is read, a default), remembers it of what is unset before it has a value,
// and ends with a function what it exports of what was set in front of its name.
type variableScripts struct {
	*rand.Rand
	functions int
}

func (v *variableScripts) pick(of ...string) string { return of[v.IntN(len(of))] }
func (v *variableScripts) name() string             { return v.pick("A", "B", "C", "HELD") }
func (v *variableScripts) value() string {
	return v.pick("1", "2", "''", `"$A"`, `"x$B"`, `"a  b"`, `"$(echo 3)"`)
}

// list is some statements, each followed by a look.
func (v *variableScripts) list(depth int, local bool) string {
	var b strings.Builder
	for range 1 + v.IntN(4) {
		fmt.Fprintf(&b, "%s\necho --; env\n", v.statement(depth, local))
	}
	return b.String()
}

func (v *variableScripts) statement(depth int, local bool) string {
	n, m := v.name(), v.name()
	forms := []string{"export " + n + "=" + v.value(), n + "=1; export " + n, n + "=" + v.value(), "unset " + n,
		"unset -v " + n + " " + m,
		"declare -x " + n + "=" + v.value(), "export " + n + "=1 " + m + "=2", n + "=" + v.value() + " env",
		n + "=1 D=2 env", n + "=5 true", n + "+=7", "unset " + n + "; " + n + "=9", n + "=3; export " + n + "; unset " +
			n, "for D in 4 5; do env; done",
		"read D <<< 6", "echo ${D:=8}", n + "=$((1+2))"}
	if local {
		forms = append(forms, "local "+n+"="+v.value(), "local "+n+"=1; export "+n, "local -x "+n+"="+v.value())
	}
	if i := v.IntN(len(forms) + 6); i < len(forms) || depth == 0 {
		return forms[i%len(forms)]
	}
	inner := v.list(depth-1, local)
	switch v.IntN(6) {
	case 0:
		return "( " + inner + ")"
	case 1:
		return "{ " + inner + "} | cat"
	case 2:
		return "{ " + inner + "}"
	case 3:
		return "echo \"$( " + inner + ")\""
	case 4:
		return "if true; then " + inner + "fi"
	}
	v.functions++
	f := fmt.Sprintf("f%d", v.functions)
	return f + "() {\n" + v.list(depth-1, true) + "}\n" + v.pick("", "D="+v.value()+" ") + f
}

// seen is what programs showed of the variables in question, each time sorted.
func seen(output string) []string {
	var out, one []string
	flush := func() {
		slices.Sort(one)
		out, one = append(out, strings.Join(one, " ")), nil
	}
	for line := range strings.Lines(output) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch {
		case line == "--\n":
			flush()
		case ok && slices.Contains([]string{"A", "B", "C", "HELD"}, name):
			one = append(one, name+"="+value)
		}
	}
	flush()
	return out
}

// TestEnvironmentOfPrograms: a program sees the variables that bash would have shown it, and each once.
func TestEnvironmentOfPrograms(t *testing.T) {
	need.Program(t, "bash")
	env := testEnv(t)
	environ := []string{"PATH=/usr/bin:/bin", "HELD=from outside", "LANG=C.UTF-8"}
	scripts := []string{"export A=1; A=2; unset A; env", "export A=1; f() { unset A; env; }; f; env",
		"export A=1; (unset A; env); env",
		"f() { local A=1; export A; env; unset A; env; }; f; env", "unset HELD; env", "unset HELD; HELD=1; env",
		"readonly A=1; export A; env",
		"export A=1 B=2; readonly A; (unset B; env); env", "export A=1; A=2 env; env",
		"set -a; A=1; env; set +a; B=1; env"}
	v := &variableScripts{Rand: rand.New(rand.NewPCG(1, 2))}
	for range need.Rounds(60, 300) {
		scripts = append(scripts, v.list(2, false))
	}
	for _, script := range scripts {
		bash := exec.Command("bash", "--norc", "-c", script)
		bash.Env = environ
		want, _ := bash.Output()
		var got bytes.Buffer
		r := Interpret(t.Context(), Script{Command: script, Workspace: env.Config.WorkspaceDir, Home: t.TempDir(),
			Environ: environ,
			Path:    []string{"/usr/bin", "/bin"}, Bare: true}, Host{Output: &got})
		if r.Error != "" {
			t.Errorf("%s\n%+v", script, r)
			continue
		}
		if w, g := seen(string(want)), seen(got.String()); !slices.Equal(w, g) {
			t.Errorf("%s\nbash: %q\nhere: %q", script, w, g)
		}
	}
}

// TestVariablesThatTheInterpreterGetsWrong: what it would do otherwise than bash without a word is refused.
func TestVariablesThatTheInterpreterGetsWrong(t *testing.T) {
	env := testEnv(t)
	for _, src := range []string{"export -n HOME", "export A=1; export A -n", "if true; then export -n A B; fi",
		"A=1 A=2 env", "f() { A=1 B=2 A=3 f; }",
		"printf -v A x", "printf -vA x", "command printf -v A x", `p=-v; printf $p A x`} {
		if r := call(t, env, "shell", command{src, nil}); r.Success ||
			!strings.Contains(r.Error, "not supported here") {
			t.Errorf("%s: %+v", src, r)
		}
	}
	for _, src := range []string{"A=1 A=2", "A=1 B=2 env", "printf x", "printf -- '%s' -v", "export A=1 B"} {
		if r := call(t, env, "shell", command{src, nil}); !r.Success {
			t.Errorf("%s: %+v", src, r)
		}
	}
}
