package chat

import (
	"strings"

	"clawsh/lib/record"
)

// maxOriginalBytes limits the server's own fields of a message. If they are longer, none is kept.
const maxOriginalBytes = 256 << 10

// setOnce are the names whose texts come complete, in one piece or in each; all others are concatenated.
var setOnce = map[string]bool{"id": true, "type": true, "name": true, "role": true, "format": true, "object": true,
	"model": true}

// tree is a JSON value that is being assembled from the pieces of a stream: texts are concatenated, objects merged
// name by name, array elements merged by index or, without one, appended; of anything else the last counts.
type tree struct {
	raw     record.Raw // neither text, object nor array
	text    *strings.Builder
	names   []string // of an object, in order of arrival
	members map[string]*tree
	list    []*tree
	isList  bool
	byIndex map[string]*tree // the elements of the list that have an index
}

// merge adds one piece. Null does not replace a value.
func (t *tree) merge(name string, raw record.Raw) error {
	switch {
	case len(raw) == 0:
		return nil
	case raw[0] == '"':
		return t.mergeText(name, raw)
	case raw[0] == '{':
		return t.mergeObject(raw)
	case raw[0] == '[':
		return t.mergeList(raw)
	case t.empty() || string(raw) != "null":
		*t = tree{raw: raw}
	}
	return nil
}

func (t *tree) empty() bool {
	return t.text == nil && t.members == nil && !t.isList && (t.raw == nil || string(t.raw) == "null")
}

func (t *tree) mergeText(name string, raw record.Raw) error {
	var s string
	if err := record.Decode(raw, &s); err != nil {
		return err
	}
	switch {
	case t.isList: // a text among parts becomes a part
		return t.part(s)
	case t.text == nil:
		*t = tree{text: &strings.Builder{}}
	case t.text.Len() > 0 && (setOnce[name] || strings.HasSuffix(name, "signature") && t.text.String() == s):
		return nil
	}
	t.text.WriteString(s)
	return nil
}

func (t *tree) mergeObject(raw record.Raw) error {
	members, err := record.Members(raw)
	if err != nil {
		return err
	}
	if t.members == nil {
		*t = tree{members: map[string]*tree{}}
	}
	for _, m := range members {
		if err := t.member(m.Name).merge(m.Name, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// member returns the value of that name, created if missing.
func (t *tree) member(name string) *tree {
	if t.members == nil {
		*t = tree{members: map[string]*tree{}}
	}
	v, ok := t.members[name]
	if !ok {
		v = &tree{}
		t.members[name], t.names = v, append(t.names, name)
	}
	return v
}

func (t *tree) mergeList(raw record.Raw) error {
	elements, err := record.Elements(raw)
	if err != nil {
		return err
	}
	if !t.isList {
		before := t.text
		*t = tree{isList: true}
		if before != nil && before.Len() > 0 {
			if err := t.part(before.String()); err != nil {
				return err
			}
		}
	}
	for _, e := range elements {
		to, index := t.element(e)
		if to == nil {
			to = &tree{}
			t.list = append(t.list, to)
			t.remember(index, to)
		}
		if err := to.merge("", e); err != nil {
			return err
		}
	}
	return nil
}

// element returns the element that a piece belongs to: the one with its index, or for a piece of text the last part
// of text. Nil means a new one, which has that index, if any.
func (t *tree) element(piece record.Raw) (*tree, record.Raw) {
	var p struct {
		Index record.Raw `json:"index"`
		Type  string     `json:"type"`
		Text  *string    `json:"text"`
	}
	if record.DecodeOpen(piece, &p) != nil {
		return nil, nil
	}
	if len(t.list) > 0 && p.Index == nil && p.Type == "text" && p.Text != nil {
		if last := t.list[len(t.list)-1]; last.members["type"].is("text") && last.members["text"] != nil &&
			len(last.names) == 2 {
			return last, nil
		}
	}
	return t.byIndex[string(p.Index)], p.Index
}

// remember indexes an element, since a server may send very many.
func (t *tree) remember(index record.Raw, e *tree) {
	if len(index) == 0 || strings.IndexByte(`"{[`, index[0]) >= 0 {
		return
	}
	if t.byIndex == nil {
		t.byIndex = map[string]*tree{}
	}
	t.byIndex[string(index)] = e
}

func (t *tree) is(text string) bool { return t != nil && t.text != nil && t.text.String() == text }

// part appends a text to a list of parts.
func (t *tree) part(s string) error {
	text, err := record.Encode(s)
	if err != nil {
		return err
	}
	return t.mergeList(record.Raw(`[{"type":"text","text":` + string(text) + `}]`))
}

// value returns the assembled value, or nil.
func (t *tree) value() (record.Raw, error) {
	switch {
	case t.text != nil:
		return record.Encode(t.text.String())
	case t.isList:
		var all []record.Raw
		for _, e := range t.list {
			v, err := e.value()
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return record.Array(all), nil
	case t.members != nil:
		members, err := t.object()
		if err != nil {
			return nil, err
		}
		return record.Object(members)
	}
	return t.raw, nil
}

// object returns the members of an object.
func (t *tree) object() ([]record.Member, error) {
	var all []record.Member
	for _, name := range t.names {
		v, err := t.members[name].value()
		if err != nil {
			return nil, err
		}
		if v != nil {
			all = append(all, record.Member{Name: name, Value: v})
		}
	}
	return all, nil
}
