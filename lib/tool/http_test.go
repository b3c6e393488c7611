package tool

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestNotPublic(t *testing.T) {
	for _, a := range []string{"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1",
		"127.9.9.9", "169.254.169.254",
		"168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1",
		"192.168.1.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"100.100.100.200",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::808:808",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:0:1::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1",
		"3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "4000::1", "1::1", "2606:4700::1%lo"} {
		if notPublic(netip.MustParseAddr(a)) == "" {
			t.Errorf("%s counts as public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
		"192.0.1.1", "198.17.255.255", "198.20.0.0",
		"223.255.255.255", "169.253.0.1", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00::1", "::ffff:8.8.8.8"} {
		if what := notPublic(netip.MustParseAddr(a)); what != "" {
			t.Errorf("%s: %s", a, what)
		}
	}
	if notPublic(netip.Addr{}) == "" {
		t.Error("no address counts as public")
	}
}

func TestDomainAllowed(t *testing.T) {
	allowed := []string{"example.com", "*.Wiki.org", "*", "*.", "", "*x.net"}
	for host, want := range map[string]bool{
		"example.com": true, "a.wiki.org": true, "a.b.wiki.org": true,
		"wiki.org": false, "evilwiki.org": false, "sub.example.com": false, "example.com.evil.org": false,
		"xexample.com": false, "example.co": false,
		"ax.net": false, "x.net": false, "": false, "*": false, "com": false,
	} {
		if domainAllowed(host, allowed) != want {
			t.Errorf("%s: want %v", host, want)
		}
	}
}

func TestHTTPRefusesByName(t *testing.T) {
	env := testEnv(t)
	env.Config.Security.AllowedDomains = []string{"example.com", "*.example.org", "localhost", "127.0.0.1",
		"2130706433", "metadata.google.internal"}
	for url, want := range map[string]string{
		"": "http://", "example.com": "http://", "ftp://example.com": "http://", "file:///etc/passwd": "http://",
		"http:example.com": "no host", "http://": "no host",
		"http:///x": "no host", "http://user@example.com/": "user name", "http://example.com@evil.net/": "user name",
		"http://:@example.com": "user name",
		"http://evil.net/":     "allowed_domains", "http://evil.net/?x=example.com": "allowed_domains",
		"http://example.com.evil.net/": "allowed_domains",
		"http://xexample.org":          "allowed_domains", "http://example.org": "allowed_domains",
		"http://evil.net#@example.com": "allowed_domains",
		"http://127.0.0.1/":            "IP address", "http://2130706433/": "IP address",
		"http://0x7f.1/":    "IP address",
		"http://0177.0.0.1": "IP address", "http://127.1": "IP address",
		"http://0": "IP address", "http://0x7f000001": "IP address", "http://[::1]/": "host name",
		"http://[::ffff:127.0.0.1]/": "host name", "http://[fe80::1%25lo]/": "host name",
		"http://exam\u200bple.com/": "host name", "http://ｅxample.com/": "host name", "http://example%2ecom/": "",
		"http://example.com%00.evil.net/": "",
		"http://exam ple.com":             "character", "http://example.com\\@evil.net": "character",
		"http://example.com/\r\nX: y": "character", "http://example.com\x00": "character",
		"http://example.com:8080/": "ports", "http://example.com:22/": "ports", "http://example.com:0": "ports",
		"http://example.com:99999": "ports", "http://-a.example.org": "host name",
		"http://example.com:443x/": "valid URL", "http://" + strings.Repeat("a", 9000): "longer",
		"http://a..example.org": "host name", "http://.example.org": "host name",
	} {
		r := call(t, env, "http", struct {
			URL string `json:"url"`
		}{url})
		if r.Success || !strings.Contains(r.Error, want) || r.Meta.DurationMS > 1000 {
			t.Errorf("%.60q: %+v, want %q", url, r, want)
		}
	}
}

func TestHTTPChecksTheAddressItConnectsTo(t *testing.T) {
	hits := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer server.Close()
	env := testEnv(t)
	env.Config.Security.AllowedDomains = []string{"localhost"}
	r := call(t, env, "http", `{"url":"http://localhost/"}`)
	if r.Success || !r.Denied || !strings.Contains(r.Error, "not public") || hits > 0 {
		t.Errorf("%+v, %d hits", r, hits)
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:443", "[::ffff:10.0.0.1]:80", "169.254.169.254:80",
		"8.8.8.8:22", "8.8.8.8:8080", "nonsense", "8.8.8.8"} {
		if err := (fetchSpec{}).checkAddress(address); err == nil {
			t.Errorf("%s may be connected to", address)
		}
	}
	for _, address := range []string{"8.8.8.8:80", "[2606:4700:4700::1111]:443"} {
		if err := (fetchSpec{}).checkAddress(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := (fetchSpec{loopback: true}).checkAddress("10.0.0.1:80"); err == nil {
		t.Error("the seam for tests reaches beyond this machine")
	}
}

// get runs the tool against a server of the test.
func get(t *testing.T, env *Env, handler http.Handler, path string) Result {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	env.Config.Security.AllowedDomains, env.testOnlyAllowLoopback = []string{"localhost"}, true
	raw, _ := recordEncode(struct {
		URL string `json:"url"`
	}{"http://LOCALHOST.:" + port + path})
	return Run(t.Context(), bind(getPage), raw, env)
}

// bomb is small, and large when it is unpacked.
var bomb = func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 8 {
		z.Write(bytes.Repeat([]byte("bomb"), 1<<18))
	}
	z.Close()
	return b.Bytes()
}()

// site answers in all the ways that servers may.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		fmt.Fprintf(w, "%s %s %s %q %q", r.Method, r.Host[:9], r.UserAgent(), r.Header.Values("Cookie"),
			r.Header.Values("Authorization"))
	})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/png", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Write([]byte("\x89PNG\x00\x01"))
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter,
		_ *http.Request) {
		w.Write([]byte("HEAD" + strings.Repeat("€", 1e6)))
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb)
	})
	mux.HandleFunc("/once", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/ok", http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter,
		r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusFound)
	})
	for name, to := range map[string]string{"private": "http://192.168.1.1/",
		"metadata": "http://169.254.169.254/latest", "file": "file:///etc/passwd", "other": "http://evil.net/",
		"user": "http://a:b@localhost/", "number": "http://2130706433/"} {
		mux.HandleFunc("/to-"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
	}
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().
			Set("X", strings.Repeat("x", 1<<20))
	})
	return mux
}

func TestHTTPGets(t *testing.T) {
	env := testEnv(t)
	env.Config.Limits.MaxResponseBytes = 100_000
	env.Config.Limits.HTTPTimeoutS = 1
	mux := site()
	for _, c := range []struct {
		path, out, fail string
		status          int
	}{
		{"/ok", "GET localhost clawsh [] []", "", 200}, {"/ok#frag", "GET", "", 200},
		{"/once", "GET localhost clawsh [] []", "", 200},
		{"/missing", "404 page not found", "HTTP status 404 Not Found", 404},
		{"/png", "", "binary or not UTF-8 (image/png, 6 bytes)", 200},
		{"/long", "HEAD€", "", 200}, {"/bomb", "bombbomb", "", 200}, {"/loop", "", "more than 3 redirects", 0},
		{"/to-private", "", "IP address", 0}, {"/to-metadata", "", "IP address", 0}, {"/to-file", "", "http://", 0},
		{"/to-other", "", "allowed_domains", 0},
		{"/to-user", "", "user name", 0}, {"/to-number", "", "IP address", 0}, {"/slow", "", "timed out after 1 s", 0},
		{"/drip", "", "timed out after 1 s", 0}, {"/headers", "", "header", 0},
	} {
		start := time.Now()
		r := get(t, env, mux, c.path)
		if r.Success != (c.fail == "") || !strings.Contains(r.Output, c.out) || !strings.Contains(r.Error, c.fail) ||
			r.Meta.HTTPStatus != c.status ||
			len(r.Output) > 4300 || time.Since(start) > 8*time.Second {
			t.Errorf("%s: %+v", c.path, r)
		}
		if cut := c.path == "/long" || c.path == "/bomb"; r.Meta.Truncated != cut || cut &&
			!strings.HasSuffix(r.Output, "the limit …]") || strings.ContainsRune(r.Output, '\uFFFD') {
			t.Errorf("%s: %+v", c.path, r.Meta)
		}
		if r.Meta.TimedOut != strings.Contains(c.fail, "timed out") {
			t.Errorf("%s: %+v", c.path, r.Meta)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"http://example.com/", "https://a.b:443/x?y#z", "http://[::1]/", "http://a@b",
		"http://%61.com", "//x", "http://0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := parseURL(raw)
		if err != nil {
			return
		}
		again, err := parseURL(u.String())
		if err != nil || again.Host != u.Host || again.User != nil {
			t.Fatalf("%q became %q: %v", raw, u, err)
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			t.Fatalf("%q has the address %q", raw, u.Hostname())
		}
	})
}
