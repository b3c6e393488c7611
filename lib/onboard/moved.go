package onboard

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
)

// served is the provider that onboard writes.
const served = "openai_compatible"

// before reads what is configured; without a file, the defaults.
func before(p config.Paths) (*config.Config, error) {
	if _, err := os.Stat(p.File); errors.Is(err, fs.ErrNotExist) {
		return config.Default(p.Home), nil
	}
	return config.Load(p)
}

// moved tells whether the answers name another server than the one that is configured.
func (o *Answers) moved() bool {
	return o.BaseURL != "" && server(o.BaseURL) != server(o.present.Providers[served].BaseURL)
}

// server is the part of a URL that decides who gets what is sent: its scheme, host and port. A URL that cannot be read
// is a server of its own.
func server(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	switch {
	case port != "":
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// stay keeps what was meant for one server from another: it refuses where a setting is sent that onboard does not ask
// about.
func (o *Answers) stay() error {
	p := o.present.Providers[served]
	var kept []string
	for _, table := range []struct {
		name string
		size int
	}{{"headers", len(p.Headers)}, {"headers_env", len(p.HeadersEnv)}, {"query", len(p.Query)}, {"body", len(p.Body)}} {
		if table.size > 0 {
			kept = append(kept, table.name)
		}
	}
	if o.Kind == "mock" || !o.moved() || len(kept) == 0 {
		return nil
	}
	return envelope.Errorf(envelope.ExitConfig, "config.invalid",
		"%s of %s would also be sent to %s, but were written for %s",
		strings.Join(kept, ", "), served, server(o.BaseURL), server(p.BaseURL)).
		WithHint("remove them from [providers.models.%s] in %s, or configure a separate provider there for the new server", served, o.present.File)
}

// leaves tells whether the configured key stays behind, because nobody has said that the new server may have it.
func (o *Answers) leaves() bool {
	return !o.wayOnly && o.Kind != "mock" && o.KeyEnv == "" && o.moved() && o.present.Providers[served].APIKeyEnv != ""
}

// farewell says that a key is no longer used.
func (i *Interview) farewell() {
	if !i.leaves() {
		return
	}
	p := i.present.Providers[served]
	i.tell("the key in %s is for %s and is no longer used; to send it to %s, name it with --api-key-env",
		p.APIKeyEnv, server(p.BaseURL), server(i.BaseURL))
}
