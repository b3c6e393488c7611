package provider

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
)

// drip is an answer that comes in pieces, each after a pause; the last one comes again and again if more is set.
type drip struct {
	pause  time.Duration
	pieces []string
	more   bool
	gone   <-chan struct{}
	at     int
}

// Read implements io.Reader.
func (d *drip) Read(p []byte) (int, error) {
	if d.at == len(d.pieces) {
		return 0, io.EOF
	}
	select {
	case <-d.gone:
		return 0, io.ErrClosedPipe
	case <-time.After(d.pause):
	}
	n := copy(p, d.pieces[d.at])
	if d.at < len(d.pieces)-1 || !d.more {
		d.at++
	}
	return n, nil
}

// Close implements io.Closer.
func (d *drip) Close() error { return nil }

// RoundTrip implements http.RoundTripper.
func (d *drip) RoundTrip(r *http.Request) (*http.Response, error) {
	d.gone = r.Context().Done()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: d,
		Request: r}, nil
}

// times is s, n times.
func times(n int, s string) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(s+"\x00", n), "\x00"), "\x00")
}

// letters are the bytes of s, each a piece.
func letters(s string) []string { return strings.Split(s, "") }

// TestSignsOfLife tries servers that are slow, stuck or hostile, in a time of its own, with the times that people have
// by default: 120 s of silence, and 40 minutes of nothing but signs of life.
func TestSignsOfLife(t *testing.T) {
	const silent = "sent no part of the answer for 40m0s"
	text := delta(`"content":"begun"`)
	for name, c := range map[string]struct {
		pause  time.Duration
		pieces []string
		more   bool
		want   string // in the error; empty: there is an answer
		within time.Duration
	}{
		"comments for ever":             {time.Minute, []string{": ping\n\n"}, true, silent, 41 * time.Minute},
		"comments of one byte for ever": {time.Second, []string{":\n"}, true, silent, 41 * time.Minute},
		"empty lines for ever":          {time.Minute, []string{"\n"}, true, silent, 41 * time.Minute},
		"blanks for ever":               {time.Minute, []string{" "}, true, silent, 41 * time.Minute},
		"byte order marks for ever":     {time.Minute, []string{"\xef\xbb\xbf"}, true, silent, 41 * time.Minute},
		"empty events for ever":         {time.Minute, []string{"data:\n\n"}, true, silent, 41 * time.Minute},
		"names of events for ever":      {time.Minute, []string{"event: ping\n\n"}, true, silent, 41 * time.Minute},
		"text, then comments for ever":  {time.Minute, []string{text, ": ping\n\n"}, true, silent, 42 * time.Minute},
		"a line without end": {time.Second, []string{":", "."}, true, "sent nothing for 2m0s",
			3 * time.Minute},
		"data without end": {time.Second, []string{"data: ", "x"}, true, "sent nothing for 2m0s",
			3 * time.Minute},
		"text, then a line without end": {time.Second, []string{text, ":", "."}, true, "sent nothing for 2m0s",
			3 * time.Minute},
		"nothing": {3 * time.Minute, []string{text}, false, "no answer within 2m0s",
			2 * time.Minute},
		"JSON, then blanks for ever": {time.Second, []string{fine, "\n"}, true, "sent nothing for 2m0s",
			3 * time.Minute},
		"JSON that stops": {time.Minute, []string{fine[:20], " "}, true, "sent nothing for 2m0s",
			4 * time.Minute},
		"half an hour of comments first": {time.Minute, append(times(30, ": ping\n\n"), text+stops), false, "",
			32 * time.Minute},
		"an hour of pieces": {time.Minute, append(times(60, delta(`"content":""`)), text+stops), false, "",
			62 * time.Minute},
		"half an hour between pieces": {time.Minute,
			append(append(append(times(30, ":\n"), text), times(30, "\n")...), stops), false, "", 64 * time.Minute},
		"half an hour of empty lines": {time.Minute, append(times(30, "\r\n"), fine), false, "", 32 * time.Minute},
		"half an hour of blanks":      {time.Minute, append(times(30, " "), fine), false, "", 32 * time.Minute},
		"JSON, a byte a minute":       {time.Minute, letters(fine), false, "", 4 * time.Hour},
		"the end, then comments":      {time.Minute, []string{text, stops, ": ping\n\n"}, true, "", 5 * time.Minute},
		"the end, then empty events": {time.Minute, []string{text, stops, "data: {}\n\n"}, true, "",
			5 * time.Minute},
		"the end, then empty choices": {time.Minute, []string{text, stops, `data: {"choices":[]}` + "\n\n"}, true,
			"", 5 * time.Minute},
		"the end, again and again": {time.Minute, []string{text, stops}, true, "", 5 * time.Minute},
		"the end, then bytes":      {time.Second, []string{text, stops, ":", "."}, true, "", 3 * time.Minute},
		"the end, then usage": {time.Minute,
			[]string{text, stops, `data: {"choices":[],"usage":{"prompt_tokens":1}}` + "\n\n", ": ping\n\n"}, true, "",
			6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: "http://localhost/v1"},
					Options{HTTP: &drip{pause: c.pause, pieces: c.pieces, more: c.more}})
				began := time.Now()
				resp, _, err := ask(p, true)
				if took := time.Since(began); took > c.within {
					t.Errorf("took %s", took)
				}
				if c.want == "" && (err != nil || resp.FinalText != "begun" && resp.FinalText != "fine") {
					t.Errorf("%+v, %v", resp, err)
				}
				if c.want != "" && (code(err) != dialect.CodeTimeout || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestTimeOfNothingButSignsOfLife checks what follows from the configured times.
func TestTimeOfNothingButSignsOfLife(t *testing.T) {
	for _, c := range []struct {
		timeout, idle float64
		want          time.Duration
	}{{0, 0, 40 * time.Minute}, {1, 0, 10 * time.Minute}, {60, 0, 20 * time.Minute}, {10, 3600, 20 * time.Hour},
		{3600, 1, 20 * time.Hour}, {86400, 0, 20 * 24 * time.Hour}} {
		p := made(t, config.Provider{Kind: "openai-compatible", BaseURL: "http://localhost/v1", TimeoutS: c.timeout,
			IdleTimeoutS: c.idle}, Options{})
		if got := p.(*server).barren; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestSignsOfLifeOverTheNetwork asks real servers, in real but short times.
func TestSignsOfLifeOverTheNetwork(t *testing.T) {
	for sign, c := range map[string]struct {
		idle, barren time.Duration
		want         string
	}{
		": ping\n\n": {time.Minute, 100 * time.Millisecond, "sent no part of the answer for 100ms"},
		"\n":         {time.Minute, 100 * time.Millisecond, "sent no part of the answer for 100ms"},
		".":          {100 * time.Millisecond, time.Minute, "sent nothing for 100ms"},
	} {
		p := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			next := bytes.NewBufferString(delta(`"content":"begun"`))
			for r.Context().Err() == nil {
				w.Write(next.Bytes())
				w.(http.Flusher).Flush()
				next = bytes.NewBufferString(sign)
				<-tick.C
			}
		})
		chat := p.(*server)
		chat.timeout, chat.idle, chat.barren = time.Minute, c.idle, c.barren
		if _, deltas, err := ask(p, true); code(err) != dialect.CodeTimeout || !strings.Contains(err.Error(), c.want) ||
			deltas != "be" {
			t.Errorf("%q: %q, %v", sign, deltas, err)
		}
	}
}
