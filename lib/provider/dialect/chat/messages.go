package chat

import (
	"crypto/sha256"
	"errors"
	"math/big"
	"slices"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// errorMark begins the result of a failed tool, since the protocol has no field for it.
const errorMark = "error: "

// message is one message in the form in which it is sent.
type message struct {
	role   string
	fields []record.Member
}

// unanswered is put between the results of a turn that ended without an answer and the next message: templates that
// require alternating roles reject a user message after a tool message.
var unanswered = []record.Member{{Name: "role", Value: record.Raw(`"assistant"`)},
	{Name: "content", Value: record.Raw(`"(this turn ended without an answer)"`)}}

// messagesOf returns the messages of a request in the form in which they are sent. Neighbours of one role are joined,
// since many chat templates reject them.
func messagesOf(q *dialect.Question) (record.Raw, error) {
	var all []message
	if q.SystemPrompt != "" {
		m, err := plain(record.Message{Role: "system", Content: q.SystemPrompt}, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	ids := map[string]string{} // a call's id here, and at the server
	for _, m := range q.Messages {
		next, err := messageOf(m, ids, q)
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].join(next) {
			continue
		} else if n > 0 && all[n-1].role == "tool" && next.role == "user" {
			all = append(all, message{"assistant", unanswered})
		}
		all = append(all, next)
	}
	var out []record.Raw
	for _, m := range all {
		raw, err := record.Object(m.fields)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return record.Array(out), nil
}

// messageOf translates one message; one from this provider goes back in its original form.
func messageOf(m record.Message, ids map[string]string, q *dialect.Question) (message, error) {
	o := m.Original
	for _, call := range m.ToolCalls {
		id := call.ProviderCallID
		if id == "" || o != nil && o.Provider != q.Provider {
			id = idOf(call.ID)
		}
		ids[call.ID] = id
	}
	if m.Role == "assistant" && o != nil && o.Provider == q.Provider && o.Dialect == record.DialectChat {
		if back, ok := replay(m, q.Without); ok {
			return back, nil
		}
	}
	return plain(m, ids)
}

// idOf returns an id that every server accepts, always the same for the same call.
func idOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	return text[len(text)-9:]
}

// replay returns an assistant message in its original form, without null and rejected fields. It is not ok if its
// calls are not those of the message.
func replay(m record.Message, without map[string]bool) (message, bool) {
	fields, err := record.Members(m.Original.Message)
	if err != nil {
		return message{}, false
	}
	var calls []string
	out := message{role: "assistant"}
	for _, f := range fields {
		switch {
		case f.Name == "role":
			f.Value = record.Raw(`"assistant"`)
		case f.Name == "content":
		case without[f.Name], string(f.Value) == "null":
			continue
		case f.Name == "tool_calls":
			if calls, err = callsBack(&f, m.ToolCalls, without); err != nil {
				return message{}, false
			}
		}
		out.fields = append(out.fields, f)
	}
	same := slices.EqualFunc(calls, m.ToolCalls,
		func(id string, c record.CallPart) bool { return id == c.ProviderCallID })
	return out, same
}

// callsBack returns the original ids of calls. It removes rejected fields from the calls, and arguments that are not
// JSON.
func callsBack(f *record.Member, parts []record.CallPart, without map[string]bool) ([]string, error) {
	calls, err := record.Elements(f.Value)
	if err != nil || len(calls) != len(parts) {
		return nil, err
	}
	var ids []string
	for i, raw := range calls {
		fields, err := record.Members(raw)
		if err != nil {
			return nil, err
		}
		for j, f := range fields {
			switch f.Name {
			case "id":
				id, _ := dialect.Text(f.Value)
				ids = append(ids, id)
			case "function":
				if fields[j].Value, err = functionBack(f.Value, parts[i].Args); err != nil {
					return nil, err
				}
			}
		}
		fields = slices.DeleteFunc(fields, func(f record.Member) bool { return without[f.Name] })
		if calls[i], err = record.Object(fields); err != nil {
			return nil, err
		}
	}
	f.Value = record.Array(calls)
	return ids, nil
}

func functionBack(raw, args record.Raw) (record.Raw, error) {
	fields, err := record.Members(raw)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		text, ok := dialect.Text(f.Value)
		if f.Name != "arguments" || !ok {
			continue
		}
		if fields[i].Value, err = record.Encode(argumentsBack(text, args)); err != nil {
			return nil, err
		}
	}
	return record.Object(fields)
}

// argumentsBack returns the arguments as the model wrote them if they are an object. Servers that parse them reject
// the whole conversation for anything else: then it returns the repaired arguments, or an object that contains the
// text.
func argumentsBack(text string, args record.Raw) string {
	if _, err := record.Members([]byte(strings.TrimSpace(text))); err == nil &&
		dialect.Fits(record.Raw(strings.TrimSpace(text))) {
		return text
	}
	if len(args) > 0 && args[0] == '{' {
		return string(args)
	}
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	raw, err := record.Encode(struct {
		Text string `json:"not_json"`
	}{text})
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// plain returns a message with only the fields that every server knows.
func plain(m record.Message, ids map[string]string) (message, error) {
	var content any = m.Content
	if m.IsError && !strings.HasPrefix(m.Content, errorMark) {
		content = errorMark + m.Content
	}
	if m.Content == "" && len(m.ToolCalls) > 0 {
		content = nil
	}
	out := message{role: m.Role}
	err := errors.Join(out.add("role", m.Role), out.add("content", content))
	if calls := callsOut(m.ToolCalls, ids); calls != nil {
		err = errors.Join(err, out.add("tool_calls", calls))
	}
	if m.Role == "tool" {
		id := ids[m.ToolCallID]
		if id == "" {
			id = idOf(m.ToolCallID)
		}
		err = errors.Join(err, out.add("tool_call_id", id))
	}
	return out, err
}

func (m *message) add(name string, value any) error {
	raw, err := record.Encode(value)
	m.fields = append(m.fields, record.Member{Name: name, Value: raw})
	return err
}

func callsOut(parts []record.CallPart, ids map[string]string) (out []callOut) {
	for _, t := range parts {
		args, malformed := dialect.Text(t.Args)
		if !malformed {
			args = string(t.Args)
		}
		out = append(out, callOut{ids[t.ID], "function", functionOut{t.Name, argumentsBack(args, t.Args)}})
	}
	return out
}

// between separates two messages that were joined.
const between = "\n\n"

// join appends a message of the same role, if they can be one: both texts, the first without calls.
func (m *message) join(next message) bool {
	if m.role != next.role || m.role != "user" && m.role != "assistant" || m.at("tool_calls") >= 0 {
		return false
	}
	i, j := m.at("content"), next.at("content")
	if i < 0 || j < 0 {
		return false
	}
	first, ok := dialect.Text(m.fields[i].Value)
	second, ok2 := dialect.Text(next.fields[j].Value)
	if !ok || !ok2 && string(next.fields[j].Value) != "null" {
		return false
	}
	text := first + between + second
	if first == "" || second == "" {
		text = first + second
	}
	raw, err := record.Encode(text)
	if err != nil {
		return false
	}
	m.fields[i].Value = raw
	for _, f := range next.fields {
		if f.Name == "role" || f.Name == "content" {
			continue
		}
		if at := m.at(f.Name); at >= 0 {
			m.fields[at] = f
		} else {
			m.fields = append(m.fields, f)
		}
	}
	return true
}

func (m *message) at(name string) int {
	return slices.IndexFunc(m.fields, func(f record.Member) bool { return f.Name == name })
}
