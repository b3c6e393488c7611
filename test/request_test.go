package test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"clawsh/lib/config"
	"clawsh/test/request"
)

// TestFirstRequestIsSmall holds the first request of a default turn to its limit, and its parts to the whole.
func TestFirstRequestIsSmall(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}`)
	}))
	defer srv.Close()
	run := func(args ...string) {
		cmd := exec.Command(filepath.Join(bin, "clawsh"), args...)
		cmd.Env, cmd.Dir = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"}, home
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("clawsh %v: %v: %s", args, err, out)
		}
	}
	run("init")
	path := filepath.Join(home, ".clawsh/config.toml")
	text, err := os.ReadFile(path)
	if err == nil {
		text, err = config.Edit(text, []config.Setting{{Key: "default_provider", Value: "openai_compatible"},
			{Key: "providers.models.openai_compatible.base_url", Value: srv.URL},
			{Key: "providers.models.openai_compatible.api_key_env", Value: ""}})
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	identity, readErr := os.ReadFile(filepath.Join(home, ".clawsh/agents/default/soul.md"))
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	run("-n", "hi")
	parts, err := request.Parts(body, string(identity))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, p := range parts {
		t.Logf("%-28s %6d", p.Name, p.Bytes)
		sum += p.Bytes
	}
	if len(body) >= request.Limit || sum != len(body) || len(parts) < 10 {
		t.Errorf("%d bytes in %d parts, which have %d bytes; the limit is %d", len(body), len(parts), sum,
			request.Limit)
	}
}
