package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/edit"
	"clawsh/lib/record"
	"clawsh/lib/result"
)

// Arguments of the tools, as package tool decodes them too.
type (
	pathArgs struct {
		Path       *string `json:"path"`
		Recursive  bool    `json:"recursive"`
		MaxEntries int     `json:"max_entries"`
	}
	readArgs struct {
		Path     *string `json:"path"`
		FromLine int64   `json:"from_line"`
		Lines    int64   `json:"lines"`
		Offset   int64   `json:"offset"`
		Limit    int64   `json:"limit"`
	}
	findArgs struct {
		Pattern    *string `json:"pattern"`
		Path       *string `json:"path"`
		Glob       string  `json:"glob"`
		IgnoreCase bool    `json:"ignore_case"`
		Context    int     `json:"context"`
		Limit      int     `json:"limit"`
	}
	editArgs struct {
		Path  *string     `json:"path"`
		Edits []edit.Edit `json:"edits"`
	}
	writeArgs struct {
		Path    *string `json:"path"`
		Content *string `json:"content"`
		Mode    string  `json:"mode"`
	}
	shellArgs struct {
		Command  *string            `json:"command"`
		TimeoutS float64            `json:"timeout_s"`
		Network  *[]string          `json:"network"`
		Sandbox  *config.SandboxAsk `json:"sandbox"`
	}
	httpArgs struct {
		URL    *string `json:"url"`
		Method *string `json:"method"`
	}
	searchArgs struct {
		Query          *string `json:"query"`
		Limit          int     `json:"limit"`
		Role           string  `json:"role"`
		Tool           string  `json:"tool"`
		Since          string  `json:"since"`
		Until          string  `json:"until"`
		ConversationID string  `json:"conversation_id"`
	}
	askArgs struct {
		Question *string `json:"question"`
	}
)

// Rules of calls that are no matter of policy: arguments that no tool takes, and names that no tool has. The model is told what
// is wrong, so that it can call again.
const (
	ruleInvalid = "args.invalid"
	ruleUnknown = "tool.unknown"
)

// Mistaken tells whether a rule is about a mistake of the model, not about what may be done.
func Mistaken(rule string) bool { return rule == ruleInvalid || rule == ruleUnknown }

func invalid(err error) finding {
	return blocked(ruleInvalid, "invalid arguments: %v", err)
}

func missing(name string) finding { return invalid(errors.New(name + " is missing")) }

// check decodes the arguments strictly and has them judged.
func check[T any](raw record.Raw, judge func(T) finding) finding {
	var args T
	if raw.Kind() != '{' {
		return invalid(notObject(raw))
	}
	if err := record.Decode(raw, &args); err != nil {
		return invalid(fmt.Errorf("%w; it takes %s", err, fields(reflect.TypeFor[T]())))
	}
	f := judge(args)
	if f.rule == ruleInvalid {
		f.reason += "; it takes " + fields(reflect.TypeFor[T]())
	}
	return f
}

// notObject says what arguments are that are no object. Those that were not JSON come as a text.
func notObject(raw record.Raw) error {
	var text string
	if record.Decode(raw, &text) != nil {
		return errors.New("want a JSON object")
	}
	var any record.Raw
	if err := record.Decode(record.Raw(text), &any); err != nil {
		return fmt.Errorf("they are not JSON: %s of %d; call again with a JSON object", strings.TrimPrefix(err.Error(), "invalid JSON: "), len(text))
	}
	if any.Kind() == '{' {
		if err := record.CheckNumbers(any); err != nil {
			return err
		}
		return errors.New("they are a text that holds an object, or nested too deep; send the object itself")
	}
	return errors.New("they are JSON, but not an object; call again with one")
}

// fields names the arguments of a tool, in order.
func fields(t reflect.Type) string {
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("json"))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (p *Policy) memorySearch(a searchArgs) finding {
	if a.Query == nil {
		return missing("query")
	}
	return low("tool.low", "searches the memory")
}

func (p *Policy) askUser(a askArgs) finding {
	if a.Question == nil {
		return missing("question")
	}
	return low("tool.low", "asks the user")
}

func (p *Policy) fileList(a pathArgs) finding {
	path := "."
	if a.Path != nil {
		path = *a.Path
	}
	return p.path(path, reading)
}

// resultOf judges a path that names the result of an earlier call: claw-exec opens none but the conversation's own.
func resultOf(path string) (finding, bool) {
	id, ok := strings.CutPrefix(path, result.Prefix)
	switch {
	case !ok:
		return finding{}, false
	case !result.Valid(id):
		return invalid(errors.New("path: there is no result of this name")), true
	}
	return low("path.result", "reads a result of this conversation"), true
}

func (p *Policy) fileRead(a readArgs) finding {
	if a.Path == nil {
		return missing("path")
	}
	if f, ok := resultOf(*a.Path); ok {
		return f
	}
	return p.path(*a.Path, reading)
}

func (p *Policy) fileSearch(a findArgs) finding {
	if a.Pattern == nil {
		return missing("pattern")
	}
	path := "."
	if a.Path != nil && *a.Path != "" {
		path = *a.Path
	}
	if f, ok := resultOf(path); ok {
		return f
	}
	return p.path(path, reading)
}

func (p *Policy) fileEdit(a editArgs) finding {
	switch {
	case a.Path == nil:
		return missing("path")
	case len(a.Edits) == 0:
		return missing("edits")
	case slices.ContainsFunc(a.Edits, func(e edit.Edit) bool { return e.New == nil }):
		return missing("new")
	}
	return p.layout(*a.Path, p.path(*a.Path, writing))
}

func (p *Policy) fileWrite(a writeArgs) finding {
	switch {
	case a.Path == nil:
		return missing("path")
	case a.Content == nil:
		return missing("content")
	case a.Mode != "" && a.Mode != "overwrite" && a.Mode != "create" && a.Mode != "append":
		return invalid(errors.New("mode: want overwrite, create or append"))
	}
	return p.layout(*a.Path, p.path(*a.Path, writing))
}
