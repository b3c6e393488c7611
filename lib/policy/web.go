package policy

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"clawsh/lib/spelling"
)

// hostName is compiled when it is first needed, like all expressions here: compiling costs more than most decisions.
var hostName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
})

// numberLike finds hosts that resolvers read as addresses in odd spellings: 2130706433, 0x7f.1, 127.1.
var numberLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*$`) })

// http judges a request: to an allowed domain, by name, on the usual ports.
func (p *Policy) http(address string) finding {
	host, f := hostOf(address)
	if f.blocked {
		return f
	}
	for _, d := range p.domains {
		if suffix, wild := strings.CutPrefix(d, "*."); host == d || wild && strings.HasSuffix(host, "."+suffix) {
			return p.tells(address, host, d, strings.TrimSuffix(strings.TrimSuffix(host, suffix), "."))
		}
	}
	return blocked("http.domain", "%s is not among the allowed domains", host)
}

// maxChosenHost is how long the part of a host's name may be that the caller chooses, below an allowed domain with *:
// names are read by name servers, too.
const maxChosenHost = 40

// tells judges what a request says to the server that it reads from: its address is a message, too.
func (p *Policy) tells(raw, host, domain, chosen string) finding {
	if !strings.HasPrefix(domain, "*.") {
		chosen = ""
	}
	if len(chosen) > maxChosenHost || strings.Contains("."+chosen, ".xn--") {
		return medium("http.tells", "reads from the allowed domain %s, but the host name could carry data out", domain)
	}
	if told := len(raw) - len("http://") - len(host) + len(chosen); told > max(p.urlBytes, len("s/")) {
		return medium("http.tells", "sends %s to the allowed domain %s in the address, of which %d go unasked",
			spelling.Count(told, "byte"), domain, p.urlBytes)
	}
	return low("http.domain", "reads from the allowed domain %s", domain)
}

// hostOf returns the host of an address that can be judged.
func hostOf(raw string) (string, finding) {
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] >= 0x7f || raw[i] == '\\' {
			return "", blocked("http.url", "the URL contains a character that URLs must not contain")
		}
	}
	u, err := url.Parse(raw)
	if err != nil || len(raw) > 4096 || u.Opaque != "" {
		return "", blocked("http.url", "the URL cannot be parsed")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	_, addrErr := netip.ParseAddr(host)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", blocked("http.url", "only http and https are supported")
	case u.User != nil:
		return "", blocked("http.url", "a URL with a user or password is not allowed")
	case u.Port() != "" && u.Port() != "80" && u.Port() != "443" || strings.HasSuffix(u.Host, ":"):
		return "", blocked("http.url", "only the ports 80 and 443 are allowed")
	case addrErr == nil || numberLike().MatchString(host):
		return "", blocked("http.url", "an IP address instead of a host name is not allowed")
	case !hostName().MatchString(host) || len(host) > 253:
		return "", blocked("http.url", "the host is not a plain name")
	}
	return host, finding{}
}
