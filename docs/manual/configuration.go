package manual

import (
	"fmt"
	"regexp"
	"strings"

	"clawsh/lib/config"
)

// Table is a table of the configuration: its heading, what it is for, and its keys.
type Table struct {
	Name, About string
	Keys        []Key
}

// Key is a key of the configuration. Unset says that its value is an example: the configuration that init writes leaves it out.
type Key struct {
	Name, Value, Means string
	Unset              bool
}

var (
	heading = regexp.MustCompile(`^(# )?\[\[?([a-zA-Z_.]+)\]?\](?:\s+#\s*(.*))?$`)
	setting = regexp.MustCompile(`^(# )?([a-z_]+) = (.+?)(?:\s+# (.*))?$`)
	further = regexp.MustCompile(`^\s{20,}# (.*)$`)
	prose   = regexp.MustCompile(`^# (.*)$`)
)

// Tables reads the configuration that init writes, which has every key with its meaning.
func Tables() []Table {
	tables := []Table{{Name: ""}}
	var about []string
	for _, line := range joined(string(config.Template())) {
		t := &tables[len(tables)-1]
		m := setting.FindStringSubmatch(line)
		if h := heading.FindStringSubmatch(line); h != nil {
			tables = append(tables, Table{Name: h[2], About: strings.TrimSpace(strings.Join(append(about, h[3]), " "))})
			about = nil
		} else if f := further.FindStringSubmatch(line); f != nil && len(t.Keys) > 0 {
			last := &t.Keys[len(t.Keys)-1]
			last.Means += " " + f[1]
		} else if m != nil {
			means := m[4]
			if means == "" {
				means = strings.Join(about, " ")
			} else if len(about) > 0 && len(t.Keys) == 0 {
				t.About = strings.TrimSpace(t.About + " " + strings.Join(about, " "))
			}
			about = nil
			t.Keys = append(t.Keys, Key{Name: m[2], Value: m[3], Means: means, Unset: m[1] != ""})
		} else if p := prose.FindStringSubmatch(line); p != nil {
			about = append(about, p[1])
		} else {
			about = nil
		}
	}
	return tables
}

// joined are the lines of a TOML text, a list on one line.
func joined(text string) []string {
	var lines []string
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if open {
			lines[len(lines)-1] += " " + strings.TrimSpace(line)
		} else {
			lines = append(lines, line)
		}
		open = open && line != "]" || !open && strings.HasSuffix(line, " = [")
	}
	return lines
}

// Configuration is the page of all keys.
func Configuration() string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" + made)
	b.WriteString(configurationText)
	for _, t := range Tables() {
		name := "Outside of tables"
		if t.Name != "" {
			name = "[" + strings.Replace(t.Name, "agents.reviewer", "agents.ID", 1) + "]"
		}
		fmt.Fprintf(&b, "\n### %s\n\n", name)
		if t.About != "" {
			fmt.Fprintf(&b, "%s\n\n", ended(t.About))
		}
		b.WriteString("| key | default | unit | meaning |\n|---|---|---|---|\n")
		for _, k := range t.Keys {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.shown(), k.unit(), cell(k.Means))
		}
	}
	return b.String()
}

func ended(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, ":") {
		return s
	}
	return s + "."
}

// shown is a key's default; of one that is not set the example.
func (k Key) shown() string {
	value := "`" + cell(strings.NewReplacer("[ ", "[", ", ]", "]").Replace(strings.TrimSpace(k.Value))) + "`"
	if k.Unset {
		return "unset; for example " + value
	}
	return value
}

// unit is what a key counts in, by its name, or else what kind of value it takes.
func (k Key) unit() string {
	for _, u := range [][2]string{{"_bytes", "bytes"}, {"_s", "seconds"}, {"_tokens", "tokens"}, {"_per_million", "currency"}, {"_cost", "currency"}, {"_epoch", "seconds since 1970"}} {
		if strings.HasSuffix(k.Name, u[0]) {
			return u[1]
		}
	}
	switch {
	case k.Value == "true" || k.Value == "false":
		return "true or false"
	case strings.HasPrefix(k.Value, "["):
		return "list"
	case strings.HasPrefix(k.Value, "{"):
		return "table"
	case strings.HasPrefix(k.Value, `"`), strings.HasPrefix(k.Value, "'"):
		return "text"
	}
	return "number"
}
