//go:build linux

package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"clawsh/test/request"
)

// BenchmarkRequest is the size of the first request of a default turn, part by part, as it is sent to the provider.
func BenchmarkRequest(b *testing.B) {
	p := newPlace(b)
	bodies := make(chan []byte, 8)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
		io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}`)
	}))
	defer srv.Close()
	config := filepath.Join(p.home, "web.toml")
	os.WriteFile(config, fmt.Appendf(nil,
		"default_provider = \"web\"\n[providers.models.web]\nkind = \"openai-compatible\"\nmodel = \"m\"\nbase_url = %q\n", srv.URL), 0o600)
	identity, err := os.ReadFile(filepath.Join(p.home, ".clawsh/agents/default/soul.md"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p.run(b, nil, "clawsh", "-n", "hi", "--config", config)
		body := <-bodies
		parts, err := request.Parts(body, string(identity))
		if err != nil {
			b.Fatal(err)
		}
		request.Write(os.Stdout, parts)
		b.ReportMetric(float64(len(body)), "bytes")
	}
}
