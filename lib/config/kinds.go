package config

import "strings"

// providerKind is a kind of provider. Where offer is set, onboard offers it as that. A server is asked at its base_url,
// in the dialect that lib/provider has for it, and the fields that are its own cannot be set in body.
type providerKind struct {
	name, offer string
	server      bool
	own         []string
	check       func(v *validator, key, name string, c *Config)
}

// asked are the fields of a request that clawsh itself sets.
var asked = []string{"model", "messages", "tools"}

// providerKinds is the one list of kinds of providers.
var providerKinds = []providerKind{
	{name: "mock", offer: "the mock", own: asked, check: checkMock},
	{name: "openai-compatible", offer: "a server of models", server: true, own: asked},
	{name: "reliable", own: asked, check: checkReliable},
}

// ProviderKinds returns all kinds of providers.
func ProviderKinds() (names []string) {
	for _, k := range providerKinds {
		names = append(names, k.name)
	}
	return names
}

// IsServer reports whether providers of a kind are servers.
func IsServer(kind string) bool { return kindOf(kind).server }

// Offered returns the kinds that onboard offers, servers first, with their names there.
func Offered() (names, texts []string) {
	for _, servers := range []bool{true, false} {
		for _, k := range providerKinds {
			if k.offer != "" && k.server == servers {
				names, texts = append(names, k.name), append(texts, k.offer)
			}
		}
	}
	return names, texts
}

// kindOf is the row of a kind, an empty one for a kind that there is not.
func kindOf(name string) providerKind {
	for _, k := range providerKinds {
		if k.name == name {
			return k
		}
	}
	return providerKind{}
}

// checkKind checks what is special to the kind of a provider.
func (v *validator) checkKind(key, name string, c *Config) {
	p := c.Providers[name]
	k := kindOf(p.Kind)
	if k.server {
		v.baseURL(key+".base_url", p.BaseURL)
	}
	if k.check != nil {
		k.check(v, key, name, c)
	}
	for field, value := range p.Body {
		v.body(key+".body."+quoteDots(field), field, value, k.own)
	}
}

func checkMock(v *validator, key, name string, c *Config) {
	p := c.Providers[name]
	if strings.HasPrefix(p.Fixture, "~") || strings.Contains(p.Fixture, "$") {
		p.Fixture = v.path(key+".fixture", p.Fixture)
		c.Providers[name] = p
	}
}

func checkReliable(v *validator, key, name string, c *Config) {
	list := c.Providers[name].Providers
	if len(list) == 0 {
		v.problem(key+".providers", "is empty: want the names of providers, in order")
	}
	for _, n := range list {
		if _, ok := c.Providers[n]; !ok {
			v.problem(key+".providers", "%s: there is no such provider", quote("", n))
		}
	}
	if reaches(c.Providers, name, name, 0) {
		v.problem(key+".providers", "leads back to %s itself", name)
	}
}
