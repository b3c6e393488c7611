package test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/itchyny/gojq"

	"clawsh/lib/record"
)

// quirkServer answers as a quirk says, and keeps what it was sent.
type quirkServer struct {
	*httptest.Server
	quirk *quirk
	mode  string
	mu    sync.Mutex
	sent  []record.Raw
}

func newQuirkServer(t *testing.T, q *quirk, mode string) *quirkServer {
	s := &quirkServer{quirk: q, mode: mode}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *quirkServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

// numbered is how many requests the file has answers for.
func (s *quirkServer) numbered() int {
	for n := 1; ; n++ {
		if _, ok := s.text(n); !ok {
			return n - 1
		}
	}
}

// text is the answer to a request: for this mode, or for both.
func (s *quirkServer) text(n int) (string, bool) {
	if a, ok := s.quirk.answers[strconv.Itoa(n)]; ok {
		return a, true
	}
	if a, ok := s.quirk.answers[fmt.Sprintf("%d %s", n, s.mode)]; ok {
		return a, true
	}
	message, ok := s.quirk.answers[fmt.Sprintf("%d message", n)]
	if !ok {
		return "", false
	}
	if s.mode == "plain" {
		return wholeAnswer(message), true
	}
	return streamedAnswer(message), true
}

func (s *quirkServer) answer(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	if len(b) == 0 {
		b = []byte("null")
	}
	headers := []record.Member{}
	for name := range r.Header {
		v, _ := record.Encode(r.Header.Get(name))
		headers = append(headers, record.Member{Name: strings.ToLower(name), Value: v})
	}
	all, _ := record.Object(headers)
	about, err := record.Encode(struct {
		Method  string     `json:"method"`
		Path    string     `json:"path"`
		Query   string     `json:"query"`
		Headers record.Raw `json:"headers"`
		Body    record.Raw `json:"body"`
	}{r.Method, r.URL.Path, r.URL.RawQuery, all, b})
	if err != nil {
		about = record.Raw("null")
	}
	s.mu.Lock()
	s.sent = append(s.sent, about)
	n := len(s.sent)
	s.mu.Unlock()
	text, ok := s.text(n)
	if !ok {
		http.Error(w, "one request too many", http.StatusTeapot)
		return
	}
	write(w, r, text)
}

// write writes an answer: its first line is the status and what the server does behind the body (hang, cut), or before
// each line of it (slow), then headers up to an empty line, then the body.
func write(w http.ResponseWriter, r *http.Request, text string) {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	words := strings.Fields(lines[0])
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ":")
		w.Header().Set(name, strings.TrimSpace(value))
	}
	status, _ := strconv.Atoi(words[0])
	w.WriteHeader(status)
	behind := strings.Join(words[1:], " ")
	body = strings.NewReplacer(`\r`, "\r", `\ufeff`, "\ufeff").Replace(body)
	if behind == "slow" {
		for _, l := range strings.SplitAfter(body, "\n\n") {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
			io.WriteString(w, l)
			w.(http.Flusher).Flush()
		}
		return
	}
	if behind == "echo" {
		body = strings.ReplaceAll(body, "KEY", r.Header.Get("Authorization"))
	}
	io.WriteString(w, body)
	w.(http.Flusher).Flush()
	switch behind {
	case "hang":
		<-r.Context().Done()
	case "cut":
		panic(http.ErrAbortHandler)
	}
}

// messageOf takes the parts of a "message" section: {"message":{…},"finish_reason":"…","usage":{…}}.
func messageOf(text string) (message, finish, usage record.Raw) {
	members, err := record.Members([]byte(text))
	if err != nil {
		panic("a message section is not JSON: " + text)
	}
	finish, usage = record.Raw(`"stop"`), record.Raw(`{"prompt_tokens":3,"completion_tokens":2}`)
	for _, m := range members {
		switch m.Name {
		case "message":
			message = m.Value
		case "finish_reason":
			finish = m.Value
		case "usage":
			usage = m.Value
		}
	}
	return message, finish, usage
}

func wholeAnswer(text string) string {
	message, finish, usage := messageOf(text)
	return fmt.Sprintf("200\nContent-Type: application/json\n\n"+
		`{"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":%s}`,
		message, finish, usage)
}

// streamedAnswer takes a message apart: each text in two pieces, each call in two, and everything else at once.
func streamedAnswer(text string) string {
	message, finish, usage := messageOf(text)
	out := "200\nContent-Type: text/event-stream\n\n"
	chunk := func(delta, finish record.Raw) {
		out += fmt.Sprintf(`data: {"id":"x","object":"chat.completion.chunk","model":"m-1","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	fields, err := record.Members(message)
	if err != nil {
		panic("a message is not an object: " + string(message))
	}
	for _, f := range fields {
		for _, piece := range inPieces(f) {
			chunk(piece, record.Raw("null"))
		}
	}
	chunk(record.Raw("{}"), finish)
	return out + `data: {"id":"x","choices":[],"usage":` + string(usage) + "}\n\ndata: [DONE]\n\n"
}

// inPieces are the pieces of one field of a message.
func inPieces(f record.Member) []record.Raw {
	if f.Name == "tool_calls" {
		return callsInPieces(f.Value)
	}
	var all []record.Raw
	for _, v := range halves(f) {
		piece, _ := record.Object([]record.Member{{Name: f.Name, Value: v}})
		all = append(all, piece)
	}
	return all
}

// halves are the two halves of a text; anything else, and a role, is whole.
func halves(f record.Member) []record.Raw {
	var s string
	if f.Name == "role" || record.Decode(f.Value, &s) != nil || len([]rune(s)) < 2 {
		return []record.Raw{f.Value}
	}
	r := []rune(s)
	first, _ := record.Encode(string(r[:len(r)/2]))
	second, _ := record.Encode(string(r[len(r)/2:]))
	return []record.Raw{first, second}
}

// callsInPieces are the calls, the arguments of each in two pieces, with its index.
func callsInPieces(raw record.Raw) []record.Raw {
	calls, err := record.Elements(raw)
	if err != nil {
		panic("tool_calls is not an array")
	}
	var all []record.Raw
	for i, c := range calls {
		fields, _ := record.Members(c)
		rest := record.Raw("{}")
		for j, f := range fields {
			if f.Name != "function" {
				continue
			}
			parts, _ := record.Members(f.Value)
			for k, p := range parts {
				if h := halves(p); p.Name == "arguments" && len(h) == 2 {
					parts[k].Value = h[0]
					rest, _ = record.Object([]record.Member{{Name: "arguments", Value: h[1]}})
				}
			}
			fields[j].Value, _ = record.Object(parts)
		}
		index := record.Member{Name: "index", Value: record.Raw(strconv.Itoa(i))}
		first, _ := record.Object(append([]record.Member{index}, fields...))
		second, _ := record.Object([]record.Member{index, {Name: "function", Value: rest}})
		for _, piece := range []record.Raw{first, second} {
			all = append(all, record.Raw(`{"tool_calls":[`+string(piece)+`]}`))
		}
	}
	return all
}

// checkSent runs the expressions over a request: an object of method, path, query, headers and body.
func (s *quirkServer) checkSent(t *testing.T, number string, exprs []string) {
	t.Helper()
	n, err := strconv.Atoi(number)
	if err != nil || n > len(s.sent) {
		t.Errorf("there was no request %s", number)
		return
	}
	v, err := record.JQValue(s.sent[n-1])
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exprs {
		q, err := gojq.Parse(e)
		if err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		if got, _ := q.Run(v).Next(); got != true {
			t.Errorf("request %s: %s is %v over %s", number, e, got, s.sent[n-1])
		}
	}
}
