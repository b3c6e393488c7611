package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"clawsh/lib/config"
)

// Configuration is the page of all keys.
func Configuration() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" + made)
	b.WriteString(configurationText)
	keys := config.Keys()
	for _, t := range slices.Concat([]config.Key{{}}, keys) {
		rows := slices.DeleteFunc(slices.Clone(keys), func(k config.Key) bool {
			return k.Table() != t.Name ||
				len(below(keys, k.Name)) > 0
		})
		if len(rows) == 0 {
			continue
		}
		name := "Outside of tables"
		if t.Name != "" {
			name = "[" + strings.NewReplacer("agents.*", "agents.ID", "models.*", "models.NAME").Replace(t.Name) + "]"
		}
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		if t.Doc != "" {
			fmt.Fprintf(&b, "%s\n\n", ended(t.Doc))
		}
		b.WriteString("| key | type | default | values | meaning |\n|---|---|---|---|---|\n")
		for _, k := range rows {
			short := k.Name[strings.LastIndex(k.Name, ".")+1:]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", short, cmp.Or(k.Unit, k.Type), value(k), k.Want,
				cell(k.Doc))
		}
	}
	return b.String()
}

func below(keys []config.Key, table string) []config.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k config.Key) bool { return k.Table() != table })
}

func ended(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, ":") {
		return s
	}
	return s + "."
}

// value is a key's default; of one that has none the example.
func value(k config.Key) string {
	if k.Default == "" && k.Example != "" {
		return "unset; for example `" + cell(k.Example) + "`"
	}
	if k.Default == "" {
		return "unset"
	}
	lines := strings.NewReplacer("[\n  ", "[", ",\n]", "]", "\n  ", " ").Replace(k.Default)
	return "`" + cell(lines) + "`"
}
