package policy

import (
	"errors"
	"slices"
	"strings"

	"clawsh/lib/config"
	"clawsh/lib/edit"
	"clawsh/lib/record"
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

// ruleInvalid is the rule of arguments that no tool takes. Callers tell such denials from those of a policy by it.
const ruleInvalid = "args.invalid"

func invalid(err error) finding {
	return blocked(ruleInvalid, "invalid arguments: %v", err)
}

func missing(name string) finding { return invalid(errors.New(name + " is missing")) }

// check decodes the arguments strictly and has them judged.
func check[T any](raw record.Raw, judge func(T) finding) finding {
	var args T
	if k := strings.TrimSpace(string(raw)); k == "" || k[0] != '{' {
		return invalid(errors.New("want a JSON object"))
	}
	if err := record.Decode(raw, &args); err != nil {
		return invalid(err)
	}
	return judge(args)
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

func (p *Policy) fileRead(a readArgs) finding {
	if a.Path == nil {
		return missing("path")
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
