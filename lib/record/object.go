package record

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one name of a JSON object and its raw value.
type Member struct {
	Name  string
	Value Raw
}

// errShape is returned by Members and Elements for a value of another type.
var errShape = errors.New("want another type of JSON value")

// Members returns the members of a JSON object in their order. The values are copies.
func Members(raw []byte) ([]Member, error) {
	var all []Member
	err := within(raw, '{', '}', func(d *jsontext.Decoder) error {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		v, err := d.ReadValue()
		all = append(all, Member{text, bytes.Clone(v)})
		return err
	})
	return all, err
}

// Elements returns the elements of a JSON array. They are copies.
func Elements(raw []byte) ([]Raw, error) {
	all := []Raw{}
	err := within(raw, '[', ']', func(d *jsontext.Decoder) error {
		v, err := d.ReadValue()
		all = append(all, bytes.Clone(v))
		return err
	})
	return all, err
}

func within(raw []byte, open, end jsontext.Kind, each func(*jsontext.Decoder) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw)) // a bytes.Buffer is read without copying
	if d.PeekKind() != open {
		return errShape
	}
	if _, err := d.ReadToken(); err != nil {
		return explain(err)
	}
	for d.PeekKind() != end {
		if err := each(d); err != nil {
			return explain(err)
		}
	}
	_, err := d.ReadToken()
	return explain(err)
}

// Object returns the JSON object of the members, in their order. Their values must be JSON.
func Object(members []Member) (Raw, error) {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := jsontext.AppendQuote(out, m.Name)
		if err != nil {
			return nil, explain(err)
		}
		out = append(append(name, ':'), m.Value...)
	}
	return append(out, '}'), nil
}

// Array returns the JSON array of the elements, which must be JSON.
func Array(elements []Raw) Raw {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}
