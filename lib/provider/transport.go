package provider

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
)

const (
	dialTimeout    = 10 * time.Second
	maxHeaderBytes = 64 << 10
)

// endpoint is a server and the settings for asking it.
type endpoint struct {
	name      string // of the provider
	wire      dialect.Wire
	base      *url.URL
	keyEnv    string
	headers   map[string]string
	headerEnv map[string]string // a header's name, and the variable with its value
	local     bool              // base_url is on this machine
	getenv    func(string) string
	http      *http.Client
}

func newEndpoint(name string, p config.Provider, o Options, w dialect.Wire) (*endpoint, error) {
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, &Error{Provider: name, Code: dialect.CodeConfig,
			Message: "base_url is not an http or https URL that can be used",
			Hint:    "such as http://localhost:1234/v1, without user or password"}
	}
	e := &endpoint{name: name, wire: w, base: withQuery(u, p.Query), keyEnv: p.APIKeyEnv, headers: p.Headers,
		headerEnv: p.HeadersEnv,
		local:     loopback(u.Hostname()), getenv: o.Getenv}
	if o.HTTP == nil {
		o.HTTP = transport(e.local)
	}
	// A redirect would carry the key to wherever it points.
	e.http = &http.Client{Transport: o.HTTP,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if _, err := e.secrets(); err != nil && err.Code == dialect.CodeConfig {
		return nil, err
	}
	return e, nil
}

// withQuery adds parameters to those that a URL has.
func withQuery(u *url.URL, more map[string]string) *url.URL {
	q := u.Query()
	for name, value := range more {
		q.Set(name, value)
	}
	out := *u
	out.RawQuery, out.Fragment = q.Encode(), ""
	return &out
}

// url is the address of what lies at a path below the base.
func (e *endpoint) url(path string) string {
	u := *e.base
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+path, ""
	return u.String()
}

// transport connects directly: a proxy that the environment names would see the requests.
func transport(local bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if local {
		dialer.Control = onlyLoopback
	}
	return &http.Transport{Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxHeaderBytes, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 4}
}

// onlyLoopback makes sure that a name such as localhost, for which plain http is allowed, resolves to a loopback
// address.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Unmap().IsLoopback() {
		return nil
	}
	return errors.New("the host name does not resolve to a loopback address")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// credentials are the secret values in a request.
type credentials struct {
	key     string
	headers map[string]string
	longest int // bytes of the longest value
}

// secrets reads the key and the headers from the environment. Without them only a server on this machine is asked.
func (e *endpoint) secrets() (credentials, *Error) {
	c := credentials{headers: map[string]string{}}
	var err *Error
	if c.key, err = e.secret(e.keyEnv); err != nil {
		return c, err
	}
	c.longest = len(c.key)
	for _, name := range slices.Sorted(maps.Keys(e.headerEnv)) {
		value, err := e.secret(e.headerEnv[name])
		if err != nil {
			return c, err
		}
		if value != "" {
			c.headers[name] = value
		}
		c.longest = max(c.longest, len(value))
	}
	return c, nil
}

func (e *endpoint) secret(variable string) (string, *Error) {
	if variable == "" {
		return "", nil
	}
	value := strings.TrimSpace(e.getenv(variable))
	switch {
	case value == "" && !e.local:
		return "", &Error{Provider: e.name, Code: dialect.CodeAuth, Message: "the environment variable " + variable +
			" is not set",
			Hint: "set " + variable + " to the key before you start clawsh"}
	case strings.ContainsFunc(value, func(r rune) bool {
		return r < ' ' || r > '~' || r == ' ' &&
			variable == e.keyEnv
	}):
		return "", &Error{Provider: e.name, Code: dialect.CodeAuth, Message: "the value of " + variable +
			" cannot be a key: it contains characters that are not allowed in a header",
			Hint: "is there a line break or a typographic quote in " + variable + "?"}
	case value != "" && e.base.Scheme == "http" && !e.local:
		return "", &Error{Provider: e.name, Code: dialect.CodeConfig,
			Message: "base_url is plain http to another machine: the API key would be sent unencrypted",
			Hint: "use https, or remove " + strings.Join(slices.Compact([]string{"api_key_env", "headers_env"}),
				" and ")}
	}
	return value, nil
}

// keys are the known secrets and these.
func (c credentials) keys(k dialect.Keys, e *endpoint) dialect.Keys {
	all := k.With(e.keyEnv, c.key)
	for name, value := range c.headers {
		all.Learn(e.headerEnv[name], value)
	}
	return all
}

// dress sets the headers of a request.
func (e *endpoint) dress(r *http.Request, c credentials, accept string) {
	r.Header.Set("Accept", accept)
	r.Header.Set("User-Agent", "clawsh")
	if c.key != "" {
		r.Header.Set(e.wire.KeyHeader, e.wire.KeyPrefix+c.key)
	}
	for _, set := range []map[string]string{e.wire.Headers, e.headers, c.headers} {
		for name, value := range set {
			r.Header.Set(name, value)
		}
	}
}

// bodyReader returns a reader for a request's body, or nil.
func bodyReader(body []byte) io.Reader {
	if body == nil {
		return nil
	}
	return bytes.NewReader(body)
}
