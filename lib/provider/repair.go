package provider

import (
	"slices"
	"strings"

	"clawsh/lib/provider/dialect"
	"clawsh/lib/record"
	"clawsh/lib/secret"
)

// maxLayers limits how often arguments may be wrapped, such as a fence around a text with the object.
const maxLayers = 4

// RepairCalls repairs almost valid names and arguments of calls, where that cannot change their meaning, and returns
// what it did to each, "" for most. Everything else stays unchanged.
func RepairCalls(req *record.Request, resp *record.Response, secrets *secret.Redactor) []string {
	notes := make([]string, len(resp.ToolCalls))
	k := dialect.Keys{Redactor: secrets.Known()}
	for i := range resp.ToolCalls {
		c := &resp.ToolCalls[i]
		var said []string
		if name := repairName(c.Name, req.Tools); name != c.Name {
			said = append(said, "the tool's name is "+name)
			c.Name = name
		}
		var text string
		if c.Args.Kind() == '"' && record.Decode(c.Args, &text) == nil {
			if args, what := repairArgs(text); args != nil && !k.HiddenIn(args) {
				said = append(said, "the arguments "+what)
				c.Args = args
			}
		}
		notes[i] = strings.Join(said, "; ")
	}
	return notes
}

// repairName finds the tool meant by a name with additions: blanks, a prefix such as functions., brackets, or the
// marks of a chat template. It returns the name of a tool unchanged, and also a name in which it finds none.
func repairName(name string, tools []record.Tool) string {
	known := func(n string) bool {
		return slices.ContainsFunc(tools, func(t record.Tool) bool { return t.Name == n })
	}
	if known(name) {
		return name
	}
	n, _, _ := strings.Cut(name, "<|")
	n = strings.TrimSuffix(strings.TrimSpace(n), "()")
	n = strings.Trim(n, " \t\r\n\"'`")
	if i := strings.LastIndexAny(n, ".:/"); i >= 0 && !known(n) {
		n = n[i+1:]
	}
	if known(n) {
		return n
	}
	return name
}

// repairArgs turns a text that is almost an object into one, and says what was wrong with it; nil if the meaning is
// unclear. It removes a code fence and a second layer of quotes, escapes control characters in texts, and drops
// commas before a closing bracket. Text that is already an object is returned unchanged.
func repairArgs(text string) (record.Raw, string) {
	var wrong []string
	for range maxLayers {
		text = strings.TrimSpace(text)
		if args := object(text); args != nil {
			return args, said(wrong)
		}
		if inner, ok := unfence(text); ok {
			text, wrong = inner, append(wrong, "were in a code fence")
			continue
		}
		var inner string
		if strings.HasPrefix(text, `"`) && record.Decode(record.Raw(text), &inner) == nil {
			text, wrong = inner, append(wrong, "were a string containing JSON")
			continue
		}
		break
	}
	if text == "" || text == "null" {
		return record.Raw("{}"), said(append(wrong, "were empty"))
	}
	mended, raw, commas := mend(text)
	if raw {
		wrong = append(wrong, "had unescaped line breaks")
	}
	if commas {
		wrong = append(wrong, "had an extra comma")
	}
	if args := object(mended); args != nil {
		return args, said(wrong)
	}
	return nil, ""
}

func said(wrong []string) string {
	if len(wrong) == 0 {
		return "were sent as a string"
	}
	return strings.Join(wrong, " and ") + "; clawsh corrected that, but send plain JSON"
}

// object returns a JSON object that a record can contain, or nil.
func object(text string) record.Raw {
	if text == "" || text[0] != '{' || !dialect.Fits(record.Raw(text)) || record.CheckNumbers([]byte(text)) != nil {
		return nil
	}
	raw, err := record.Encode(record.Raw(text))
	if err != nil {
		return nil
	}
	return raw
}

// unfence removes a Markdown code fence around the whole text.
func unfence(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text, false
	}
	rest, ok = strings.CutSuffix(rest, "```")
	if !ok || strings.Contains(rest, "\n```") {
		return text, false
	}
	if line, more, cut := strings.Cut(rest, "\n"); cut && !strings.ContainsAny(line, "{[\"") {
		rest = more // the language
	}
	return rest, true
}

// mend escapes control characters within texts and drops commas before a closing bracket.
func mend(text string) (mended string, raw, commas bool) {
	var b strings.Builder
	in := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case in && c == '\\' && i+1 < len(text):
			b.WriteByte(c)
			i++
			b.WriteByte(text[i])
			continue
		case in && c < ' ':
			b.WriteString(escapes(c))
			raw = true
			continue
		case c == '"':
			in = !in
		case !in && c == ',' && closes(text[i+1:]):
			commas = true
			continue
		}
		b.WriteByte(c)
	}
	return b.String(), raw, commas
}

func escapes(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	const hex = "0123456789abcdef"
	return `\u00` + string(hex[c>>4]) + string(hex[c&15])
}

func closes(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}
