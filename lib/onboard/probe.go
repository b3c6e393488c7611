package onboard

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
)

// probe is what a server said when its models were asked for.
type probe struct {
	reached  bool // somebody answered
	wantsKey bool
	models   []listedModel
	err      *envelope.Error // why there is no list
}

type listedModel struct {
	ID            string `json:"id"`
	ContextLength int    `json:"context_length"`
}

// edited is the configuration with the answers so far; without a file, init's.
func (o *Answers) edited(p config.Paths) ([]byte, error) {
	if err := o.stay(); err != nil && !o.wayOnly {
		return nil, err
	}
	old, err := os.ReadFile(p.File)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = config.Template(), nil
	}
	if err != nil {
		return nil, err
	}
	return config.Edit(old, o.settings())
}

// look asks the server for its models, through the one program that may see the key, with a configuration that is gone
// afterwards.
func (i *Interview) look(ctx context.Context, o *Answers) probe {
	var list struct {
		Models []listedModel `json:"models"`
	}
	err := o.with(i.paths, func(cfg *config.Config) error {
		return i.query(ctx, cfg, nil, &list, "models", cfg.DefaultProvider)
	})
	e := envelope.From(err)
	r := probe{models: list.Models, err: e}
	switch {
	case e == nil:
		r.reached = true
	case e.Code == "provider.auth":
		r.reached, r.wantsKey = true, true
	case e.Code == "provider.bad_request", e.Code == "provider.bad_response",
		e.Code == "provider.not_found", e.Code == "provider.rate_limit", e.Code == "provider.quota":
		r.reached = true
	}
	return r
}

// with calls f with the configuration that the answers so far would make.
func (o *Answers) with(p config.Paths, f func(*config.Config) error) error {
	text, err := o.edited(p)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "clawsh-onboard-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p.File, p.Explicit = filepath.Join(dir, "config.toml"), true
	if err := os.WriteFile(p.File, text, 0o600); err != nil {
		return err
	}
	cfg, err := config.Load(p)
	if err != nil {
		var problems *config.Problems
		if errors.As(err, &problems) && len(problems.List) > 0 {
			first := problems.List[0]
			_, key, _ := strings.Cut(first.Key, "openai_compatible.")
			return envelope.Errorf(envelope.ExitConfig, "config.invalid", "%s %s", key, first.Message)
		}
		return err
	}
	return f(cfg)
}

// has tells whether the server lists a model.
func (r probe) has(model string) bool {
	for _, m := range r.models {
		if m.ID == model {
			return true
		}
	}
	return false
}

// why is a failure in words for a person who has just named a server: without the provider's name, which they have not
// seen, and with the server's instead of the whole request.
func (r probe) why(address string) string {
	text := strings.TrimPrefix(r.err.Message, served+": ")
	verb, rest, quoted := strings.Cut(text, " \"")
	_, reason, ended := strings.Cut(rest, "\": ")
	if (verb != "Get" && verb != "Post") || !quoted || !ended {
		return text
	}
	if dial, after, found := strings.Cut(reason, ": "); found && strings.HasPrefix(dial, "dial tcp") {
		reason = after
	}
	host := address
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host = u.Host
	}
	return host + ": " + reason
}
