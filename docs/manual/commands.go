package manual

import (
	"fmt"
	"strings"
)

const made = "<!-- Made by make docs. Do not edit: the next run overwrites it. -->\n\n"

// Commands is the page of all commands.
func Commands(programs []Program) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n" + made)
	b.WriteString("Every program, command and flag, with the texts of `--help`. The manual pages, `man clawsh` and so on, have the same texts.\n" +
		"For what commands print with `--output-format json`, see [SCHEMAS.md](SCHEMAS.md#commands); for exit codes,\n" +
		"[EXIT_CODES.md](EXIT_CODES.md).\n\n| program | |\n|---|---|\n")
	for _, p := range programs {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", p.App, p.App, cell(p.Summary))
	}
	b.WriteString("\nEvery command takes these flags:\n\n")
	writeFlags(&b, programs[0].Flags)
	for _, p := range programs {
		writeProgram(&b, p)
	}
	return b.String()
}

func writeProgram(b *strings.Builder, p Program) {
	fmt.Fprintf(b, "## %s\n\n%s.\n\n", p.App, upper(p.Summary))
	if p.Long != "" {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", strings.Trim(p.Long, "\n"))
	}
	b.WriteString("| command | |\n|---|---|\n")
	for _, c := range p.Commands {
		fmt.Fprintf(b, "| `%s` | %s |\n", cell(c.Usage), cell(c.Summary))
	}
	b.WriteString("\n")
	for _, c := range p.Commands {
		if len(c.Flags) == 0 && c.Long == "" {
			continue
		}
		fmt.Fprintf(b, "### %s\n\n%s.\n\n", strings.TrimSpace(p.App+" "+c.Name), upper(c.Summary))
		if c.Long != "" {
			fmt.Fprintf(b, "```text\n%s\n```\n\n", strings.Trim(c.Long, "\n"))
		}
		writeFlags(b, c.Flags)
		if c.Example != "" {
			fmt.Fprintf(b, "```sh\n%s\n```\n\n", c.Example)
		}
	}
}

func writeFlags(b *strings.Builder, flags []Flag) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("| flag | |\n|---|---|\n")
	for _, f := range flags {
		fmt.Fprintf(b, "| `%s` | %s |\n", cell(f.words()), cell(f.means()))
	}
	b.WriteString("\n")
}

// cell is a text in a table, where a bar would end it.
func cell(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "|", `\|`) }

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
