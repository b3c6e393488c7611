package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const maxRedirects = 3

// fetch gets a page. It takes no proxy, no cookies, no credentials and no HTTP/2; the address is checked when it is
// connected to, so that no name, redirect or second answer of a name server leads elsewhere.
func fetch(ctx context.Context, spec fetchSpec) (*page, error) {
	u, err := parseURL(spec.URL)
	if err == nil {
		err = spec.check(u)
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	setHeaders(req)
	client := &http.Client{Transport: spec.transport(), Timeout: spec.Timeout, CheckRedirect: spec.checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		return nil, reason(err)
	}
	defer resp.Body.Close()
	// The transport has unpacked the body: the limit holds for what comes out.
	body, err := io.ReadAll(io.LimitReader(resp.Body, spec.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", reason(err))
	}
	p := &page{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: body}
	if int64(len(body)) > spec.MaxBytes {
		p.Body, p.More = body[:spec.MaxBytes], true
	}
	return p, nil
}

func setHeaders(req *http.Request) {
	req.Header = http.Header{"User-Agent": {"clawsh"},
		"Accept": {"text/html,text/plain,application/json,text/*;q=0.9,*/*;q=0.1"}}
}

func (s fetchSpec) transport() *http.Transport {
	dialer := &net.Dialer{
		Timeout:  s.Timeout,
		Resolver: &net.Resolver{PreferGo: true},
		ControlContext: func(_ context.Context, _, address string,
			_ syscall.RawConn) error {
			return s.checkAddress(address)
		},
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      false,
		MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout:    10 * time.Second,
	}
}

// checkAddress has the last word: on the address that is about to be connected to.
func (s fetchSpec) checkAddress(address string) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return refusedError{fmt.Errorf("the address %q cannot be checked", address)}
	}
	if s.loopback && a.Addr().Unmap().IsLoopback() {
		return nil
	}
	if a.Port() != 80 && a.Port() != 443 {
		return refusedError{errPort}
	}
	if what := notPublic(a.Addr()); what != "" {
		return refusedError{fmt.Errorf("the address %s is not public: %s", a.Addr(), what)}
	}
	return nil
}

func (s fetchSpec) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return refusedError{fmt.Errorf("more than %d redirects", maxRedirects)}
	}
	u, err := parseURL(req.URL.String())
	if err == nil {
		err = s.check(u)
	}
	if err == nil && via[len(via)-1].URL.Scheme == "https" && u.Scheme != "https" {
		err = errors.New("it goes from https to http")
	}
	if err != nil {
		return refusedError{fmt.Errorf("redirect to %q: %w", req.URL.String(), err)}
	}
	req.URL = u
	setHeaders(req)
	return nil
}

// check decides about a URL by its name: scheme, port and domain.
func (s fetchSpec) check(u *url.URL) error {
	switch port := u.Port(); {
	case s.loopback:
	case port == "", port == "80", port == "443":
	default:
		return refusedError{errPort}
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return err
	}
	if !domainAllowed(host, s.Domains) {
		return refusedError{fmt.Errorf("the domain %s is not in security.allowed_domains", host)}
	}
	return nil
}

var errPort = errors.New("only the ports 80 and 443 are allowed")

// reason is the error without the URL that net/http puts before it, and short for what was refused.
func reason(err error) error {
	var refused refusedError
	if errors.As(err, &refused) {
		return refused
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// parseURL parses a URL so that there is one way to read it: what Go's parser takes for lenient readers is refused.
func parseURL(raw string) (*url.URL, error) {
	if len(raw) > 8192 {
		return nil, errors.New("the URL is longer than 8192 bytes")
	}
	if i := strings.IndexFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }); i >= 0 {
		return nil, fmt.Errorf("the URL contains the character %q", raw[i])
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("invalid URL: %w", reason(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("want a URL that begins with http:// or https://")
	}
	if u.User != nil {
		return nil, errors.New("the URL contains a user name or password")
	}
	if u.Host == "" || u.Opaque != "" {
		return nil, errors.New("the URL has no host")
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	if port := u.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u, nil
}
