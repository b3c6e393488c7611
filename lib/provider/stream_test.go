package provider

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"clawsh/lib/config"
	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// stops is the end of a streamed answer.
const stops = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"

func delta(fields string) string { return `data: {"choices":[{"delta":{` + fields + `}}]}` + "\n\n" }

func piece(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }

func TestWaysToStream(t *testing.T) {
	hello := `data: {"choices":[{"index":0,"delta":{"content":"h€llo"}}]}`
	for name, body := range map[string]string{
		"CRLF":            hello + "\r\n\r\n" + strings.ReplaceAll(stops, "\n", "\r\n"),
		"CR":              hello + "\r\r" + strings.ReplaceAll(stops, "\n", "\r"),
		"byte order mark": "\xef\xbb\xbf" + hello + "\n\n" + stops,
		"comments and other fields": ": ping\n\n:\nid: 7\nretry: 1\nevent: message\n" + hello + "\n\n" + ": ping\n\n" +
			stops,
		"no space behind data": strings.ReplaceAll(hello, "data: ", "data:") + "\n\n" + stops,
		"no [DONE]":            hello + "\n\n" + stops,
		"no last empty line":   hello + "\n\n" + strings.TrimSpace(stops),
		"done without newline": hello + "\n\n" + stops + "data: [DONE]",
		"done and no reason":   hello + "\n\ndata: [DONE]\n\n",
		"anything behind done": hello + "\n\n" + stops + "data: [DONE]\n\ndata: nonsense\n\n",
		"usage and no choices": hello + "\n\n" + stops +
			`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n",
		"usage is null": `data: {"choices":[],"usage":null}` + "\n\n" + hello + "\n\n" + stops,
		"usage is odd": `data: {"choices":[],"usage":{"prompt_tokens":"many"}}` + "\n\n" + hello + "\n\n" +
			stops,
		"empty data":              "data:\n\ndata\n\n" + hello + "\n\n" + stops,
		"data over several lines": "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"h€llo\"}}]}\n\n" + stops,
		"lines that end in CRLF": "data: {\"choices\":\r\ndata: [{\"delta\":{\"content\":\"h€llo\"}}]}\r\n\r\n" +
			stops,
		"two choices":        `data: {"choices":[{"index":1,"delta":{"content":"other"}},{"index":0,"delta":{"content":"h€"}}]}` + "\n\n" + delta(`"content":"llo"`) + stops,
		"parts":              delta(`"content":[{"type":"text","text":"h€"},{"type":"image_url"},{"type":"text","text":"llo"}]`) + stops,
		"nulls":              `data: {"id":null,"model":null,"error":null,"choices":[{"index":0,"delta":{"content":null,"tool_calls":null},"finish_reason":null}]}` + "\n\n" + hello + "\n\n" + stops,
		"a refusal":          delta(`"refusal":"h€llo"`) + stops,
		"cut behind the end": "CUT" + hello + "\n\n" + stops,
	} {
		for _, kind := range []string{"text/event-stream", "text/plain"} {
			p := at(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				body, cut := strings.CutPrefix(body, "CUT")
				for i := range len(body) {
					io.WriteString(w, body[i:i+1])
					if i%7 == 0 {
						w.(http.Flusher).Flush()
					}
				}
				if cut {
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			resp, deltas, err := ask(p, true)
			if err != nil || resp.FinalText != "h€llo" || deltas != "h€llo" ||
				resp.FinishReason != map[bool]string{true: "refusal", false: "stop"}[name == "a refusal"] ||
				resp.Model != "m" {
				t.Errorf("%s, %s: %+v, %q, %v", name, kind, resp, deltas, err)
			}
		}
	}
}

func TestStreamedCalls(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"fragments": {piece(`"index":0,"id":"a","function":{"name":"f","arguments":""}`) +
			piece(`"index":0,"function":{"arguments":"{\"p\""}`) + piece(`"index":0,"function":{"arguments":":1}"}`),
			`f {"p":1}`},
		"no index": {piece(`"id":"a","function":{"name":"f","arguments":"{"}`) + piece(`"function":{"arguments":"}"}`) +
			piece(`"id":"b","function":{"name":"g","arguments":"{}"}`) +
			piece(`"id":"a","function":{"arguments":" "}`), "f {}; g {}"},
		"no index, no id": {piece(`"function":{"name":"f","arguments":"{}"}`) +
			piece(`"function":{"name":"f","arguments":"{\"p\":2}"}`), `f {}; f {"p":2}`},
		"index 0 each": {piece(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`) +
			piece(`"index":0,"id":"b","function":{"name":"g","arguments":"{}"}`), "f {}; g {}"},
		"id in every piece, name in every piece": {piece(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`) +
			piece(`"index":0,"id":"a","function":{"name":"f","arguments":"}"}`), "f {}"},
		"turns about": {piece(`"index":1,"id":"b","function":{"name":"g","arguments":"{"}`) +
			piece(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`) +
			piece(`"index":1,"function":{"arguments":"}"}`) + piece(`"index":0,"function":{"arguments":"}"}`),
			"g {}; f {}"},
		"an object":     {piece(`"index":0,"id":"a","function":{"name":"f","arguments":{"p":[1]}}`), `f {"p":[1]}`},
		"a huge index":  {piece(`"index":2147483647,"id":"a","function":{"name":"f"}`), "f {}"},
		"cut arguments": {piece(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"p\":"}`), `f "{\"p\":"`},
	} {
		resp, _, err := ask(at(t, nil, sse(c.body+stops)), true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, call := range resp.ToolCalls {
			got = append(got, call.Name+" "+string(call.Args))
		}
		if s := strings.Join(got, "; "); s != c.want || resp.FinishReason != "tool_calls" {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
	nameless := piece(`"index":0,"function":{"arguments":"{}"}`) + stops
	if _, _, err := ask(at(t, nil, sse(nameless)), true); code(err) != dialect.CodeBadResponse {
		t.Errorf("a call without a name: %v", err)
	}
	var many strings.Builder
	for i := range 64 + 1 {
		many.WriteString(piece(fmt.Sprintf(`"index":%d,"id":"c%d","function":{"name":"f"}`, i, i)))
	}
	if _, _, err := ask(at(t, nil, sse(many.String()+stops)), true); code(err) != dialect.CodeBadResponse {
		t.Errorf("too many calls: %v", err)
	}
}

func TestFinishReasons(t *testing.T) {
	call := `,"tool_calls":[{"function":{"name":"f","arguments":"{"}}]`
	for _, c := range []struct{ reason, fields, want string }{
		{"stop", `"content":"x"`, "stop"}, {"length", `"content":"x"`, "length"},
		{"length", `"content":null`, "length"}, {"content_filter", `"content":""`, "content_filter"},
		{"function_call", `"content":null` + call, "tool_calls"}, {"stop", `"content":"x"` + call, "tool_calls"},
		{"length", `"content":""` + call, "length"},
		{"eos_token", `"content":"x"`, "stop"}, {"tool_calls", `"content":"x"`, "stop"}, {"", `"content":"x"`, "stop"},
	} {
		resp, _, err := ask(at(t, nil, says(200, `{"choices":[{"index":0,"finish_reason":"`+c.reason+`","message":{`+
			c.fields+`}}]}`)), false)
		if err != nil || resp.FinishReason != c.want {
			t.Errorf("%+v: %+v, %v", c, resp, err)
		}
	}
}

func TestStreamLimits(t *testing.T) {
	text := delta(`"content":"` + strings.Repeat("x", 1000) + `"`)
	args := piece(`"index":0,"id":"a","function":{"name":"f","arguments":"` + strings.Repeat("x", 1000) + `"}`)
	for name, body := range map[string]string{
		"much text":       strings.Repeat(text, 100) + stops,
		"much arguments":  strings.Repeat(args, 100) + stops,
		"a long line":     "data: {\"x\":\"" + strings.Repeat("x", 100<<10) + "\"}\n\n" + stops,
		"a long comment":  ":" + strings.Repeat("x", 100<<10) + "\n\n" + stops,
		"a long event":    strings.Repeat("data: "+strings.Repeat(" ", 1000)+"\n", 100) + "\n" + stops,
		"endless pings":   strings.Repeat(":\n", streamFactor*(64<<10)/2+1) + stops,
		"a line that has": "data: " + strings.Repeat("x", 100<<10),
	} {
		p := at(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, body)
		})
		if _, _, err := ask(p, true); code(err) != dialect.CodeTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	small := strings.Repeat(delta(`"content":"x"`), 5000) + stops
	p := at(t, nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, small) })
	if resp, _, err := ask(p, true); err != nil || len(resp.FinalText) != 5000 {
		t.Errorf("the wrapping counts as text: %v", err)
	}
}

func TestSilenceInTheMiddle(t *testing.T) {
	quick := func(p *config.Provider) { p.IdleTimeoutS, p.TimeoutS = 0.05, 30 }
	for body, want := range map[string]string{delta(`"content":"begun"`): dialect.CodeTimeout,
		delta(`"content":"begun"`) + stops: ""} {
		p := at(t, quick, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, body)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		resp, deltas, err := ask(p, true)
		if want != "" && (code(err) != want || err.(*Error).again() || deltas != "be") || want == "" &&
			(err != nil || resp.FinalText != "begun") {
			t.Errorf("%q: %+v, %v", body, resp, err)
		}
	}
}

func TestAnOutputThatFails(t *testing.T) {
	full := errors.New("disk full")
	for _, body := range []string{delta(`"content":"a"`) + stops, fine} {
		tries := 0
		p := at(t, nil, func(w http.ResponseWriter, _ *http.Request) { tries++; io.WriteString(w, body) })
		resp, err := p.Chat(t.Context(), &record.Request{}, func(string) error { return full })
		if !errors.Is(err, full) || tries != 1 {
			t.Errorf("%+v, %v after %d tries", resp, err, tries)
		}
	}
}

// TestLargeOriginals: what would not fit into a record is not kept, the answer is; it goes back as a plain message.
func TestLargeOriginals(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		kept bool
	}{
		"small": {delta(`"x":"`+strings.Repeat("x", 1000)+`"`) + delta(`"content":"fine"`), true},
		"many unknown": {strings.Repeat(delta(`"x":"`+strings.Repeat("x", 30000)+`"`),
			10) + delta(`"content":"fine"`), false},
		"of a call": {delta(`"content":"fine"`) +
			strings.Repeat(piece(`"index":0,"id":"a","function":{"name":"f"},"x":"`+strings.Repeat("x", 30000)+`"`),
				10), false},
		"deep": {delta(`"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)) + delta(`"content":"fine"`),
			false},
		"the key inside": {delta(`"x":"`+testKey+`"`) + delta(`"content":"fine"`), false},
	} {
		resp, _, err := ask(at(t, nil, sse(c.body+stops)), true)
		if err != nil || resp.FinalText != "fine" || (resp.Original != nil) != c.kept {
			t.Errorf("%s: %+v, %v", name, resp.Original, err)
		}
	}
}
