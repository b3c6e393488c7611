package tool

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"clawsh/lib/card"
	"clawsh/lib/spelling"
)

// getPage gets a page from an allowed domain.
func getPage(ctx context.Context, a card.HTTPArgs, env *Env) Result {
	page, err := fetch(ctx, fetchSpec{URL: a.URL, Domains: env.Config.Security.AllowedDomains,
		MaxBytes: int64(env.Config.Limits.MaxResponseBytes), Timeout: seconds(env.Config.Limits.HTTPTimeoutS),
		loopback: env.testOnlyAllowLoopback})
	if err != nil {
		return failed(err, "get %q: %v", a.URL)
	}
	return page.result(env)
}

// fetchSpec is all that a fetch needs to know, and page all that comes of it: it can move to a process of its own.
type fetchSpec struct {
	URL      string
	Domains  []string
	MaxBytes int64
	Timeout  time.Duration
	loopback bool
}

type page struct {
	Status      int
	ContentType string
	Body        []byte
	More        bool // the body goes on
}

func (p *page) result(env *Env) Result {
	r := Result{Success: p.Status < 400}
	if p.More {
		// The end may be within a character.
		p.Body = p.Body[:len(p.Body)-partialEnd(string(p.Body[max(0, len(p.Body)-4):]))]
	}
	if !isText(p.Body) {
		r.Success, r.Error = false, fmt.Sprintf("the response is binary or not UTF-8 (%s, %s)",
			contentType(p.ContentType), spelling.Count(len(p.Body), "byte"))
		r.Meta.TotalBytes = int64(len(p.Body))
	} else {
		r.setFound(string(p.Body), env)
	}
	if p.More {
		r.Meta.Truncated = true
		r.Output += fmt.Sprintf("\n[… cut after %s, the limit …]", spelling.Count(len(p.Body), "byte"))
	}
	if p.Status >= 400 {
		r.Error = fmt.Sprintf("HTTP status %d %s", p.Status, http.StatusText(p.Status))
	}
	r.Meta.HTTPStatus, r.Meta.ContentType = p.Status, contentType(p.ContentType)
	return r
}

// contentType keeps a header that a server chose to what may stand in a record.
func contentType(s string) string {
	if s == "" {
		return "no content type"
	}
	return quoteName(validText(s[:min(len(s), 100)]))
}
