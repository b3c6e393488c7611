package tool

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"clawsh/lib/secret"
)

// output keeps the head and the tail of what is written to it, limit bytes in all. Programs write to it concurrently.
type output struct {
	mu    sync.Mutex
	limit int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
	clean *secret.Stream // takes secrets out before anything is cut
}

func newOutput(limit int) *output {
	return &output{limit: max(limit, 64), clean: (*secret.Redactor)(nil).NewStream()}
}

// Write implements io.Writer. It never fails: a program must not fail because it talks much.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep([]byte(o.clean.Next(string(p))))
	return len(p), nil
}

func (o *output) keep(p []byte) {
	half := o.limit / 2
	o.total += int64(len(p))
	if room := half - len(o.head); room > 0 {
		room = min(room, len(p))
		o.head = append(o.head, p[:room]...)
		p = p[room:]
	}
	if len(p) > half {
		p = p[len(p)-half:]
	}
	room := min(half-len(o.tail), len(p))
	o.tail = append(o.tail, p[:room]...)
	for p = p[room:]; len(p) > 0; {
		c := copy(o.tail[o.next:], p)
		o.next = (o.next + c) % half
		p = p[c:]
	}
}

// into puts what was written into a result.
func (o *output) into(r *Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep([]byte(o.clean.Rest()))
	r.Meta.Withheld = o.clean.Counts().Total()
	tail := string(o.tail[o.next:]) + string(o.tail[:o.next])
	r.Meta.TotalBytes = o.total
	if int64(len(o.head)+len(tail)) == o.total {
		r.Output, r.Meta.Truncated = shorten(string(o.head)+tail, o.limit)
		return
	}
	cut := o.total - int64(len(o.head)+len(tail))
	r.Meta.Truncated = true
	r.Output, _ = join(string(o.head), tail, o.limit, cut)
}

// withhold takes secrets out of what leaves the tool, and counts them.
func (r *Result) withhold(env *Env) {
	output, found := env.Secrets.String(r.Output)
	reason, also := env.Secrets.String(r.Error)
	r.Output, r.Error = output, reason
	r.Meta.Withheld += found.Total() + also.Total()
}

// setFound is setText for text from outside: secrets go first, so that none is cut in two.
func (r *Result) setFound(text string, env *Env) {
	text, found := env.Secrets.String(text)
	r.Meta.Withheld = found.Total()
	r.setText(text, env.Config.Limits.MaxOutputBytes)
}

// setText puts text into a result, head and tail of it if it is longer than limit bytes.
func (r *Result) setText(text string, limit int) {
	r.Meta.TotalBytes = int64(len(text))
	r.Output, r.Meta.Truncated = shorten(text, limit)
}

func shorten(text string, limit int) (string, bool) {
	text = validText(text)
	if len(text) <= limit {
		return text, false
	}
	return join(text[:limit/2], text[len(text)-limit/2:], limit, int64(len(text)-2*(limit/2)))
}

// join puts the mark of what was cut between head and tail. Characters that were cut through go too, and so does what
// became longer than its half because invalid bytes were replaced.
func join(head, tail string, limit int, cut int64) (string, bool) {
	whole := len(head) + len(tail)
	head = head[:len(head)-partialEnd(head)]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) && whole-len(head)-len(tail) < 4 {
		tail = tail[1:]
	}
	cut += int64(whole - len(head) - len(tail))
	head, tail = validText(head), validText(tail)
	if over := len(head) - limit/2; over > 0 {
		head = head[:limit/2]
		head = head[:len(head)-partialEnd(head)]
		cut += int64(over)
	}
	if over := len(tail) - limit/2; over > 0 {
		tail = strings.TrimLeftFunc(tail[over:], func(r rune) bool { return r == utf8.RuneError })
		cut += int64(over)
	}
	return fmt.Sprintf("%s\n[… %d bytes cut …]\n%s", head, cut, tail), true
}

// partialEnd counts the bytes of a character that s ends in the middle of.
func partialEnd(s string) int {
	for n := 1; n <= min(3, len(s)); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if c >= 0xc0 && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
