package config

import (
	"net/url"
	"slices"
	"strings"

	"clawsh/lib/secret"
)

// provider checks what is special to the tables of a provider that its server is sent.
func (v *validator) provider(key string, p Provider) {
	for name, value := range p.Headers {
		at := key + ".headers." + quoteDots(name)
		switch {
		case !isHeader(name):
			v.problem(at, "%s: want the name of a header that is not clawsh's own", quote("", name))
		case secretHeader(name) || holdsSecret(value):
			v.problem(at, "(not shown): secrets belong in the environment: name the variable in headers_env")
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			v.problem(at, "(not shown): want printable ASCII")
		}
	}
	for name, variable := range p.HeadersEnv {
		at := key + ".headers_env." + quoteDots(name)
		switch {
		case !isHeader(name):
			v.problem(at, "%s: want the name of a header that is not clawsh's own", quote("", name))
		case !isVariable(variable):
			v.problem(at, "(not shown): want the name of an environment variable, not the value itself")
		}
	}
	for name, value := range p.Query {
		if secretParameter(name) || holdsSecret(value) {
			v.problem(key+".query."+quoteDots(name),
				"(not shown): secrets belong in the environment: use api_key_env or headers_env")
		}
	}
}

// body checks a field that is added to requests.
func (v *validator) body(at, name string, value any, own []string) {
	if slices.Contains(own, name) {
		v.problem(at, "%s is set by clawsh and cannot be set here", name)
	}
	if !isJSON(value) {
		v.problem(at, "want strings, numbers, true, false, arrays and tables: JSON has no dates")
	}
	if holdsSecret(value) {
		v.problem(at, "(not shown): looks like a secret, and clawsh config show would print it")
	}
}

// isJSON tells whether a value of TOML can be sent as JSON.
func isJSON(value any) bool {
	switch x := value.(type) {
	case string, bool, int64:
		return true
	case float64:
		return x-x == 0 // neither infinite nor NaN
	case []any:
		return !slices.ContainsFunc(x, func(e any) bool { return !isJSON(e) })
	case map[string]any:
		for _, e := range x {
			if !isJSON(e) {
				return false
			}
		}
		return true
	}
	return false
}

// holdsSecret tells whether a text in a value has the shape of a secret.
func holdsSecret(value any) bool {
	switch x := value.(type) {
	case string:
		return secret.New(nil).Found([]byte(x))
	case []any:
		return slices.ContainsFunc(x, holdsSecret)
	case map[string]any:
		for _, e := range x {
			if holdsSecret(e) {
				return true
			}
		}
	}
	return false
}

// isHeader tells whether a header of that name may be set.
func isHeader(name string) bool {
	const token = lower + upper + digits + "!#$%&'*+-.^_`|~"
	own := []string{"host", "content-length", "content-type", "transfer-encoding", "connection", "accept",
		"accept-encoding", "upgrade", "te", "trailer", "expect"}
	return made(name, 128, token, token) && !slices.Contains(own, strings.ToLower(name))
}

func secretHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "auth") || name == "cookie" || secretParameter(name)
}

func secretParameter(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "secret", "password", "signature", "credential"},
		func(w string) bool { return strings.HasSuffix(name, w) })
}

func (v *validator) baseURL(key, value string) {
	u, err := url.Parse(value)
	switch {
	case value == "" || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		v.problem(key, "(not shown): want an absolute http or https URL, such as http://localhost:1234/v1")
	case u.User != nil:
		v.problem(key, "(not shown): must not contain a user or password; use api_key_env")
	case u.Fragment != "":
		v.problem(key, "(not shown): must not contain a fragment")
	}
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		if secretParameter(name) || slices.ContainsFunc(values, func(s string) bool { return holdsSecret(s) }) {
			v.problem(key, "(not shown): must not contain a secret; use api_key_env or headers_env")
			return
		}
	}
}

// reaches tells whether following providers from one leads to target.
func reaches(all map[string]Provider, from, target string, steps int) bool {
	if steps > len(all) {
		return true
	}
	for _, n := range all[from].Providers {
		if n == target || all[n].Kind == "reliable" && reaches(all, n, target, steps+1) {
			return true
		}
	}
	return false
}
