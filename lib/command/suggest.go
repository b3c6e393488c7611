package command

import (
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"clawsh/lib/spelling"
)

// Help is the help of the program, as the answer of a command.
func (c *Call) Help() Result { return c.help("") }

// HelpOf is the help of a command or a group.
func (c *Call) HelpOf(name string) Result { return c.help(name) }

// UnknownCommand is the error for a word behind a command's name that is none of the commands of that group.
func (c *Call) UnknownCommand(word string) error { return c.unknown(word) }

// invalid is how the flag library says that a value cannot be used: with the words of the parser of numbers behind it.
var invalid = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^invalid argument "(.*)" for "(.*)" flag: (.*)$`) })

// plainFlagError says what is wrong with a flag in plain words.
func plainFlagError(msg string) string {
	m := invalid().FindStringSubmatch(msg)
	if m == nil {
		return msg
	}
	names := strings.Split(m[2], ", ")
	why := m[3]
	if strings.HasPrefix(why, "strconv.") || strings.HasPrefix(why, "parsing ") {
		bool := strings.Contains(why, "ParseBool")
		if why = "want a number"; bool {
			why = "want true or false"
		}
	}
	return names[len(names)-1] + " " + m[1] + ": " + why
}

// nearFlag is the flag that an unknown one is most likely a misspelling of, or "".
func (p *program) nearFlag(msg string) string {
	word, ok := strings.CutPrefix(msg, "unknown flag: --")
	if !ok {
		return ""
	}
	cmd, _, err := p.root.Find(strings.Fields(p.words))
	if err != nil {
		return ""
	}
	var names []string
	each := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	cmd.Flags().VisitAll(each)
	cmd.Root().PersistentFlags().VisitAll(each)
	return spelling.Nearest(word, names, 2)
}
