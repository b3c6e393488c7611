package test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"clawsh/lib/record"
)

// A modelStep is what the scripted model of a task does next, having read what the tools said.
type modelStep struct {
	If string `json:"if"` // the step is left out unless the last results match this
	// what the last results must match, and before the first the system prompt: how else would it know?
	See   []string `json:"see"`
	Calls []struct {
		Name string     `json:"name"`
		Args record.Raw `json:"args"`
		Raw  string     `json:"raw"` // arguments that are no JSON
	} `json:"calls"`
	Text string `json:"text"`
}

// taskModel is a server that speaks chat completions and follows the script of one task. In arguments and texts {{W}}
// is the workspace, {{LOGS}} the directory of logs, and {{result}} the name of the kept result that was named last.
type taskModel struct {
	mu      sync.Mutex
	steps   []modelStep
	places  *strings.Replacer
	next    int
	rounds  int
	called  map[string]bool // ids of calls that were made
	results string          // that the model was given last
	kept    string
	problem error
}

func newTaskModel(t *testing.T, script string, places *strings.Replacer) (*taskModel, string) {
	t.Helper()
	m := &taskModel{places: places, called: map[string]bool{}}
	for i, l := range strings.Split(strings.TrimSpace(script), "\n") {
		var s modelStep
		if err := record.Decode([]byte(l), &s); err != nil {
			t.Fatalf("step %d of the model: %v: %s", i+1, err, l)
		}
		m.steps = append(m.steps, s)
	}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	return m, srv.URL
}

// A modelRequest is what of a request the script looks at.
type modelRequest struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Role    string     `json:"role"`
		Content record.Raw `json:"content"`
		CallID  string     `json:"tool_call_id"`
	} `json:"messages"`
}

// ServeHTTP implements http.Handler.
func (m *taskModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var req modelRequest
	if err == nil {
		err = record.DecodeOpen(body, &req)
	}
	var s modelStep
	if err == nil {
		s, err = m.due(req)
	}
	if err != nil {
		m.problem = errors.Join(m.problem, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.answer(w, s, req.Stream)
}

var keptResult = regexp.MustCompile(`result:[A-Za-z0-9_.-]*[A-Za-z0-9]`)

// due is the next step, if the request is what one may expect before it.
func (m *taskModel) due(req modelRequest) (modelStep, error) {
	m.results = ""
	var prompt string
	for _, msg := range req.Messages {
		var text string
		record.DecodeOpen(msg.Content, &text)
		switch msg.Role {
		case "tool":
			if !m.called[msg.CallID] {
				return modelStep{}, fmt.Errorf("the server was sent the id %q, which is not its own", msg.CallID)
			}
			m.results += text + "\n"
		case "system":
			prompt = text
		default:
			m.results = ""
		}
	}
	if m.rounds == 0 {
		m.results = prompt
	}
	if found := keptResult.FindAllString(m.results, -1); found != nil {
		m.kept = found[len(found)-1]
	}
	for m.next < len(m.steps) {
		s := m.steps[m.next]
		m.next++
		if s.If != "" && !regexp.MustCompile(s.If).MatchString(m.results) {
			continue
		}
		for _, want := range s.See {
			if !regexp.MustCompile(m.places.Replace(want)).MatchString(m.results) {
				return s, fmt.Errorf("step %d of the model: the results do not match %q:\n%.3000s", m.next, want,
					m.results)
			}
		}
		m.rounds++
		return s, nil
	}
	return modelStep{}, errors.New("the model has nothing left to say")
}

// A piece of an answer as servers stream it.
type (
	functionPiece struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	callPiece struct {
		Index    int           `json:"index"`
		ID       string        `json:"id,omitempty"`
		Type     string        `json:"type,omitempty"`
		Function functionPiece `json:"function"`
	}
	answerPiece struct {
		Role    string      `json:"role,omitempty"`
		Content string      `json:"content"`
		Calls   []callPiece `json:"tool_calls,omitempty"`
	}
	answerChoice struct {
		Index   int          `json:"index"`
		Delta   *answerPiece `json:"delta,omitempty"`
		Message *answerPiece `json:"message,omitempty"`
		Finish  *string      `json:"finish_reason"`
	}
	answerBody struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Choices []answerChoice `json:"choices"`
	}
)

// answer writes a step whole or, as servers stream, in pieces: arguments are cut in the middle.
func (m *taskModel) answer(w http.ResponseWriter, s modelStep, stream bool) {
	places := strings.NewReplacer("{{result}}", m.kept)
	whole := answerPiece{Role: "assistant", Content: m.places.Replace(s.Text)}
	finish := "stop"
	for i, c := range s.Calls {
		args := c.Raw
		if args == "" {
			args = string(c.Args)
		}
		id := fmt.Sprintf("call_%020d%04d", m.rounds, i)
		m.called[id] = true
		whole.Calls = append(whole.Calls, callPiece{Index: i, ID: id, Type: "function",
			Function: functionPiece{Name: c.Name, Arguments: places.Replace(m.places.Replace(args))}})
		finish = "tool_calls"
	}
	if !stream {
		b, _ := record.Encode(answerBody{"chatcmpl-1", "scripted", []answerChoice{{Message: &whole, Finish: &finish}}})
		w.Write(b)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	pieces := []answerPiece{{Role: "assistant"}}
	for text := range strings.SplitAfterSeq(whole.Content, " ") {
		pieces = append(pieces, answerPiece{Content: text})
	}
	for _, c := range whole.Calls {
		half := len(c.Function.Arguments) / 2
		for half > 0 && c.Function.Arguments[half]&0xC0 == 0x80 {
			half--
		}
		head, tail := c, callPiece{Index: c.Index, Function: functionPiece{Arguments: c.Function.Arguments[half:]}}
		head.Function.Arguments = c.Function.Arguments[:half]
		pieces = append(pieces, answerPiece{Calls: []callPiece{head}}, answerPiece{Calls: []callPiece{tail}})
	}
	for i := range pieces {
		m.event(w, answerChoice{Delta: &pieces[i]})
	}
	m.event(w, answerChoice{Delta: &answerPiece{}, Finish: &finish})
	io.WriteString(w, "data: [DONE]\n\n")
}

func (m *taskModel) event(w io.Writer, c answerChoice) {
	b, _ := record.Encode(answerBody{"chatcmpl-1", "scripted", []answerChoice{c}})
	fmt.Fprintf(w, "data: %s\n\n", b)
}

// done tells what is wrong about the conversation now that it is over.
func (m *taskModel) done() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.problem == nil && m.next < len(m.steps) {
		return fmt.Errorf("the turn ended before step %d of the model", m.next+1)
	}
	return m.problem
}
