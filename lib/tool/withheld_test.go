package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawsh/lib/secret"
)

// TestSecretsStayInTheTool: what a file, a program or a page shows leaves without the secret in it, and says so, also
// where the output is cut.
func TestSecretsStayInTheTool(t *testing.T) {
	env := testEnv(t)
	env.Secrets = secret.New([]string{"PLANTED_TOKEN=planted-v4lue-0"})
	token := "gh" + "p_" + strings.Repeat("fAk3", 9)
	limit := env.Config.Limits.MaxOutputBytes
	for name, c := range map[string]struct {
		text  string
		count int
	}{
		"both":           {"a " + token + "\nb planted-v4lue-0\n", 2},
		"at the cut":     {strings.Repeat("x", limit/2-10) + " " + token + " " + strings.Repeat("y", limit), 1},
		"behind the cut": {strings.Repeat("x", limit) + " " + token + " " + strings.Repeat("y", limit/2-18), 1},
		"none":           {"call-019df3c2 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0},
	} {
		path := filepath.Join(env.Config.WorkspaceDir, "f.txt")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for how, r := range map[string]Result{
			"file_read": call(t, env, "file_read", map[string]string{"path": "f.txt"}),
			"shell":     call(t, env, "shell", map[string]string{"command": "cat f.txt"}),
			"http":      (&page{Status: 200, Body: []byte(c.text)}).result(env),
		} {
			if r.Meta.Withheld != c.count || strings.Contains(r.Output, "fAk3") || strings.Contains(r.Output, "v4lue") {
				t.Errorf("%s, %s: %d withheld: %.80s … %s", name, how, r.Meta.Withheld, r.Output, r.Error)
			}
			if c.count == 2 && (!strings.Contains(r.Output, "[withheld: github token]") ||
				!strings.Contains(r.Output, "[withheld: value of PLANTED_TOKEN]")) {
				t.Errorf("%s, %s does not say what was withheld: %s", name, how, r.Output)
			}
		}
	}
	r := call(t, env, "file_read", map[string]string{"path": token})
	if r.Meta.Withheld != 1 || strings.Contains(r.Error, "fAk3") {
		t.Errorf("an error: %+v", r)
	}
}
