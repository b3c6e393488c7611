package chat

import (
	"cmp"
	"errors"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
)

// Models implements dialect.Dialect: a list, in any form that servers use.
func (Dialect) Models(b []byte, k dialect.Keys) ([]dialect.Model, error) {
	var list struct {
		Data   record.Raw `json:"data"`
		Models record.Raw `json:"models"`
		Error  record.Raw `json:"error"`
	}
	all := record.Raw(b)
	if record.DecodeOpen(b, &list) == nil {
		if e := reported(list.Error, k); e != nil {
			return nil, e
		}
		if all = list.Data; !dialect.Given(all) {
			all = list.Models
		}
	}
	elements, err := record.Elements(all)
	if err != nil {
		return nil, errors.New("the answer is not a list of models")
	}
	models := []dialect.Model{}
	for _, raw := range elements {
		models = append(models, readModel(raw))
	}
	return models, nil
}

func readModel(raw record.Raw) dialect.Model {
	if s, ok := dialect.Text(raw); ok {
		return dialect.Model{ID: s}
	}
	var m struct {
		ID       record.Raw `json:"id"`
		Model    record.Raw `json:"model"`
		Name     record.Raw `json:"name"`
		Length   record.Raw `json:"context_length"`
		MaxLen   record.Raw `json:"max_model_len"`
		Window   record.Raw `json:"context_window"`
		MaxInput record.Raw `json:"max_context_length"`
	}
	if record.DecodeOpen(raw, &m) != nil {
		return dialect.Model{}
	}
	id, _ := dialect.Text(m.ID)
	model, _ := dialect.Text(m.Model)
	name, _ := dialect.Text(m.Name)
	var length int64
	for _, l := range []record.Raw{m.Length, m.MaxLen, m.Window, m.MaxInput} {
		if length == 0 && record.DecodeOpen(l, &length) != nil {
			length = 0
		}
	}
	return dialect.Model{ID: cmp.Or(id, model, name), ContextLength: max(length, 0)}
}
