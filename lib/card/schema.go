package card

import (
	"iter"
	"reflect"
	"strconv"
	"strings"

	"clawsh/lib/record"
)

// argument is a field of an arguments struct, with its parsed tags.
type argument struct {
	name, want, text string
	role             Role
	required, hidden bool
	value            reflect.Value
}

func arguments(v reflect.Value) iter.Seq[argument] {
	return func(yield func(argument) bool) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			name, _, _ := strings.Cut(tag.Get("json"), ",")
			a := argument{name: name, want: tag.Get("want"), text: tag.Get("text"), role: Role(tag.Get("role")),
				required: tag.Get("arg") == "required", hidden: tag.Get("arg") == "hidden", value: v.Field(i)}
			if !yield(a) {
				return
			}
		}
	}
}

// Schema returns the JSON Schema of the arguments for models. limits gives the values of the limits that texts name.
func (c Card) Schema(limit func(key string) float64) record.Raw {
	object := object(reflect.TypeOf(c.Args), limit)
	return record.Raw(object[:len(object)-1] + `,"additionalProperties":false}`)
}

func object(t reflect.Type, limit func(string) float64) string {
	var properties, required []string
	for a := range arguments(reflect.Zero(t)) {
		if a.hidden {
			continue
		}
		properties = append(properties, quote(a.name)+":"+a.schema(limit))
		if a.required {
			required = append(required, quote(a.name))
		}
	}
	text := `{"type":"object","properties":{` + strings.Join(properties, ",") + "}"
	if len(required) > 0 {
		text += `,"required":[` + strings.Join(required, ",") + "]"
	}
	return text + "}"
}

func (a argument) schema(limit func(string) float64) string {
	t := a.value.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return `{"type":"boolean"` + a.told(limit)
	case reflect.Int, reflect.Int64:
		return `{"type":"integer"` + a.bounds() + a.told(limit)
	case reflect.Float64:
		return `{"type":"number"` + a.told(limit)
	case reflect.Slice:
		item := argument{value: reflect.Zero(t.Elem())}
		return `{"type":"array","items":` + item.schema(limit) + a.told(limit)
	case reflect.Struct:
		return object(t, limit)
	}
	return `{"type":"string"` + a.words() + a.told(limit)
}

func (a argument) words() string {
	if a.want == "" {
		return ""
	}
	words := strings.Split(a.want, "|")
	for i, w := range words {
		words[i] = quote(w)
	}
	return `,"enum":[` + strings.Join(words, ",") + "]"
}

func (a argument) bounds() (text string) {
	low, high, _ := strings.Cut(a.want, "..")
	if a.text != "" {
		return "" // which says them
	}
	if low != "" {
		text = `,"minimum":` + low
	}
	if high != "" {
		text += `,"maximum":` + high
	}
	return text
}

// told adds an argument's description to its schema.
func (a argument) told(limit func(string) float64) string {
	if a.text == "" {
		return "}"
	}
	var text strings.Builder
	for rest := a.text; rest != ""; {
		plain, after, named := strings.Cut(rest, "{")
		key, end, closed := strings.Cut(after, "}")
		if !named || !closed || strings.ContainsAny(key, ", ") {
			text.WriteString(rest)
			break
		}
		text.WriteString(plain + strconv.FormatFloat(limit(key), 'f', -1, 64))
		rest = end
	}
	return `,"description":` + quote(text.String()) + "}"
}

func quote(s string) string {
	b, _ := record.Encode(s) // a text can always be encoded
	return string(b)
}
