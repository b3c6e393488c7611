package tool

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"clawsh/lib/result"
	"clawsh/lib/secret"
	"clawsh/lib/spelling"
)

// output keeps the head and the tail of what is written to it, limit bytes in all. Programs write to it concurrently.
type output struct {
	mu    sync.Mutex
	limit int
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
	lines int64          // newlines so far
	whole []byte         // up to what is kept
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
	o.lines += int64(bytes.Count(p, []byte("\n")))
	o.whole = append(o.whole, p[:min(len(p), result.MaxBytes-len(o.whole))]...)
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

// into puts what was written into a result. from is where the rest can be read, if anywhere.
func (o *output) into(r *Result, from string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep([]byte(o.clean.Rest()))
	r.Meta.Withheld = o.clean.Counts().Total()
	tail := string(o.tail[o.next:]) + string(o.tail[:o.next])
	r.Meta.TotalBytes, r.Whole = o.total, validText(string(o.whole))
	if int64(len(o.head)+len(tail)) == o.total {
		r.Output, r.Meta.Truncated = shorten(string(o.head)+tail, o.limit, from)
		return
	}
	r.Meta.Truncated = true
	lines := o.lines
	if !strings.HasSuffix(tail, "\n") {
		lines++
	}
	r.Output = piece{string(o.head), tail, o.total - int64(len(o.head)+len(tail)), lines, from}.join(o.limit)
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
	r.setText(text, env)
}

// setText puts text into a result, head and tail of it if it is too long.
func (r *Result) setText(text string, env *Env) {
	r.Meta.TotalBytes = int64(len(text))
	r.Whole = validText(text[:min(len(text), result.MaxBytes)])
	r.Output, r.Meta.Truncated = shorten(text, env.Config.Limits.MaxOutputBytes, env.Result)
}

func shorten(text string, limit int, from string) (string, bool) {
	text = validText(text)
	if len(text) <= limit {
		return text, false
	}
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	return piece{head, tail, int64(len(text) - len(head) - len(tail)),
		int64(strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1), from}.join(limit), true
}

// piece is a text of which the middle is left out.
type piece struct {
	head, tail string
	cut        int64  // bytes between them
	lines      int64  // of the whole
	from       string // where it can be read
}

// join puts a note of what was left out between head and tail. Lines that were cut through go too, unless they are most
// of what there is; so do characters that were cut through, and what became longer than its half because invalid bytes
// were replaced.
func (p piece) join(limit int) string {
	half := limit / 2
	whole := len(p.head) + len(p.tail)
	head, tail := p.head[:len(p.head)-partialEnd(p.head)], p.tail
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) && len(p.tail)-len(tail) < 3 {
		tail = tail[1:]
	}
	if end := strings.LastIndexByte(head, '\n') + 1; end > len(head)/2 {
		head = head[:end]
	}
	if begin := strings.IndexByte(tail, '\n') + 1; begin > 0 && begin < len(tail)/2 {
		tail = tail[begin:]
	}
	cut := p.cut + int64(whole-len(head)-len(tail))
	head, tail = validText(head), validText(tail)
	if over := len(head) - half; over > 0 {
		head = head[:half]
		head = head[:len(head)-partialEnd(head)]
		cut += int64(over)
	}
	if over := len(tail) - half; over > 0 {
		tail = strings.TrimLeftFunc(tail[over:], func(r rune) bool { return r == utf8.RuneError })
		cut += int64(over)
	}
	return strings.TrimSuffix(head, "\n") + "\n[… " + p.note(head, tail, cut) + " …]\n" + tail
}

// note says which lines are left out, and how to read them.
func (p piece) note(head, tail string, cut int64) string {
	first := int64(strings.Count(head, "\n")) + 1
	last := p.lines - int64(strings.Count(strings.TrimSuffix(tail, "\n"), "\n")) - 1
	if last < first { // the middle of a line
		last = first
	}
	text := fmt.Sprintf("lines %d to %d of %d left out (%s)", first, last, p.lines, spelling.Count(cut, "byte"))
	if p.from != "" {
		text += fmt.Sprintf(`; read on: file_read {"path":%q,"from_line":%d}`, p.from, first)
	}
	return text
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
