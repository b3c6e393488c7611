package manual

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"

	"clawsh/lib/envelope"
)

// Build is what the foot of a man page names. Date is that of the source, never of the clock, so that pages can be
// reproduced.
type Build struct{ Version, Date string }

// Page is a man page: NAME.SECTION and its text for man.
type Page struct {
	Name, Section string
	Text          []byte
}

const seeAlso = "\n# SEE ALSO\n**clawsh**(1), **clawsh-config**(5), **clawsh-records**(5), **clawsh-receipts**(5), **clawsh-files**(5)\n"

// Pages are all man pages. schemas is the text of SCHEMAS.md.
func Pages(programs []Program, schemas string, build Build) ([]Page, error) {
	var pages []Page
	for _, p := range programs {
		pages = append(pages, page(p.App, "1", p.Summary, manOf(p, programs), build))
	}
	_, config, _ := strings.Cut(Configuration(), made)
	pages = append(pages, page("clawsh-config", "5", "the configuration of clawsh", "# DESCRIPTION\n"+config+seeAlso,
		build))
	for _, s := range []struct{ name, about, from, to string }{
		{"clawsh-records", "the records that clawsh's programs exchange", "\n## Records\n", "\n## Files\n"},
		{"clawsh-receipts", "the receipts of tool calls: log, head, checkpoints, proofs, keys",
			"\n### tool_receipts.log\n", "\n### audit.jsonl\n"},
		{"clawsh-files", "the other files in clawsh's home", "\n### audit.jsonl\n", "\n## Logs\n"},
	} {
		text, err := between(schemas, s.from, s.to)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page(s.name, "5", s.about, "# DESCRIPTION\n"+text+seeAlso, build))
	}
	return pages, nil
}

func between(text, from, to string) (string, error) {
	_, rest, ok := strings.Cut(text, from)
	inner, _, found := strings.Cut(rest, to)
	if !ok || !found {
		return "", fmt.Errorf("SCHEMAS.md has no part from %q to %q", from, to)
	}
	return inner, nil
}

var link = regexp.MustCompile(`\[([^\]\n\\]+)\]\([^)\n]*\)`)

func page(name, section, about, body string, build Build) Page {
	body = link.ReplaceAllString(body, "$1")
	body = strings.ReplaceAll(body, "| | |\n|---", "| name | meaning |\n|---")
	head := fmt.Sprintf("%% %q %q %q %q %q\n# NAME\n%s - %s\n\n", strings.ToUpper(name), section, build.Date,
		"clawsh "+build.Version, "clawsh manual", name, plain(about))
	return Page{name, section, tidy(md2man.Render([]byte(head + body)))}
}

func manOf(p Program, programs []Program) string {
	var b strings.Builder
	b.WriteString("# SYNOPSIS\n")
	synopsis(&b, p)
	b.WriteString("# DESCRIPTION\n")
	paragraphs(&b, upper(p.Summary)+".")
	paragraphs(&b, p.Long)
	b.WriteString("# COMMANDS\n")
	for _, c := range p.Commands {
		manCommand(&b, p, c)
	}
	b.WriteString("# OPTIONS OF EVERY COMMAND\n")
	options(&b, programs[0].Flags)
	fmt.Fprintf(&b, "**--help**\n: show what a command does\n\n# EXIT STATUS\n")
	for _, e := range envelope.ExitCodes() {
		fmt.Fprintf(&b, "**%d**\n: %s\n\n", e.Code, plain(e.Means))
	}
	b.WriteString("# ENVIRONMENT\n")
	for line := range strings.Lines(environment) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			fmt.Fprintf(&b, "%s\n: %s\n\n", strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]))
		}
	}
	b.WriteString("# FILES\n" + files + "# SEE ALSO\n")
	var see []string
	for _, o := range programs {
		if o.App != p.App {
			see = append(see, "**"+o.App+"**(1)")
		}
	}
	b.WriteString(strings.Join(append(see, "**clawsh-config**(5)", "**clawsh-records**(5)", "**clawsh-receipts**(5)",
		"**clawsh-files**(5)"), ", ") + "\n")
	return b.String()
}

func synopsis(b *strings.Builder, p Program) {
	b.WriteString("```\n")
	for _, c := range p.Commands {
		b.WriteString(c.Usage + "\n")
	}
	b.WriteString("```\n\n")
}

func manCommand(b *strings.Builder, p Program, c Command) {
	fmt.Fprintf(b, "### %s\n", plain(strings.TrimSpace(p.App+" "+c.Name)))
	fmt.Fprintf(b, "```\n%s\n```\n\n", c.Usage)
	paragraphs(b, upper(c.Summary)+".")
	paragraphs(b, c.Long)
	options(b, c.Flags)
	if c.Example != "" {
		fmt.Fprintf(b, "Example:\n\n```\n%s\n```\n\n", c.Example)
	}
}

func options(b *strings.Builder, flags []Flag) {
	for _, f := range flags {
		if f.Shorthand != "" {
			fmt.Fprintf(b, "**-%s**, ", f.Shorthand)
		}
		fmt.Fprintf(b, "**--%s**", f.Name)
		if f.Value != "" {
			fmt.Fprintf(b, " *%s*", plain(f.Value))
		}
		fmt.Fprintf(b, "\n: %s\n\n", plain(f.means()))
	}
}

// paragraphs writes a text of the help: what is set in columns stays so.
func paragraphs(b *strings.Builder, text string) {
	for _, par := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		switch {
		case par == "":
		case strings.HasPrefix(par, " ") || strings.Contains(par, "\n "):
			fmt.Fprintf(b, "```\n%s\n```\n\n", par)
		default:
			fmt.Fprintf(b, "%s\n\n", plain(par))
		}
	}
}

// plain escapes what Markdown would take for marks.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]<>#|&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
