package onboard

import "testing"

func TestServer(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://host/v1", "http://HOST:80/v2", true},
		{"https://host/v1", "https://host:443", true},
		{"http://host/v1", "https://host/v1", false},
		{"http://host:80/v1", "https://host:80/v1", false},
		{"http://host:1/v1", "http://host:2/v1", false},
		{"http://host/v1", "http://host.example/v1", false},
		{"http://[::1]:80/v1", "http://[::1]/v1", true},
		{"http://host/v1", "http://host@evil/v1", false},
		{"http://host/v1", "host", false},
		{"http://%zz", "http://%zy", false},
	} {
		if got := server(c.a) == server(c.b); got != c.same {
			t.Errorf("%s and %s: same server %t, want %t", c.a, c.b, got, c.same)
		}
	}
}
