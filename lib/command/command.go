// Package command is the command line of every clawsh program, once: a table of commands drives parsing, help, shell
// completion, the JSON envelope, exit codes, logs and signals.
//
// A program's main is a table:
//
//	command.Main(command.App{Name: "claw-gate", Summary: "…", Commands: []command.Command{filter(), policy(), check()}})
//
// A Command's Run returns a typed Result, which is printed as text or, with --output-format json, inside the envelope of
// package envelope; --jq applies a jq expression to that envelope. Failures take the same ways. Main is the only caller
// of os.Exit in clawsh.
package command

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"clawsh/lib/config"
	"clawsh/lib/secret"
)

// Version is the version of all clawsh programs: they are built, tested and released together.
const Version = "0.1.0"

// App is a program: its name, what it is for, and its commands.
type App struct {
	// Name is the program's name, for messages.
	Name string
	// Summary says in one line what the program does.
	Summary string
	// Long says the rest, in the order of a manual page.
	Long string
	// Commands is the table. The command with an empty Name is what the program does without one.
	Commands []Command
}

// Command is one row of the table.
type Command struct {
	// Name is what is typed, words separated by blanks, such as "config validate"; empty for the program itself.
	Name string
	// Envelope is the command's name in the JSON envelope, such as "memory search" for claw-mem's search. Empty means
	// Name, or the program's name if that is empty too.
	Envelope string
	// Args describes the arguments in a usage line, such as "QUERY".
	Args string
	// Min and Max bound the number of arguments; Max < 0 means any.
	Min, Max int
	// Summary is one line, Long the rest of the help, Example a line or more that can be run.
	Summary, Long, Example string
	// Hidden commands work but are not listed: plumbing between our own programs.
	Hidden bool
	// HandOver commands belong to another program, which gets all arguments as they are.
	HandOver bool
	// Filter commands write records, not an answer: --jq is not for them, jq goes behind the pipe.
	Filter bool
	// OwnSignals commands take SIGINT and SIGTERM from Call.Signals; for others they cancel the context.
	OwnSignals bool
	// Flags declares the command's own flags.
	Flags func(*pflag.FlagSet)
	// Run does the work.
	Run func(ctx context.Context, c *Call) (Result, error)
}

// Result is what a command has to say. Its exported fields are the data of the JSON envelope; WriteText writes it for
// people.
type Result interface {
	WriteText(w io.Writer) error
}

// Call is one invocation of a command.
type Call struct {
	App     string
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
	Environ []string
	Log     *slog.Logger
	// Secrets withholds what the environment, the configuration and the shape of a text mark as secret. Environ tells
	// children what to recognise.
	Secrets *secret.Redactor
	// Signals delivers SIGINT and SIGTERM to commands with OwnSignals.
	Signals <-chan Signal
	// Changed tells whether a flag was given on the command line.
	Changed func(flag string) bool
	// Global holds the global flags as they were given, to be passed on to another program.
	Global Global
	// Raw holds everything behind the command's name, for HandOver commands.
	Raw []string
}

// Global are the flags that every command has.
type Global struct {
	Config string
	Format string
	JQ     string
}

// Paths says where the configuration is, following --config, CLAWSH_CONFIG and CLAWSH_HOME.
func (c *Call) Paths() (config.Paths, error) { return config.Locate(c.Global.Config, c.Getenv) }

// Config loads the configuration and logs its path.
func (c *Call) Config() (*config.Config, error) {
	p, err := c.Paths()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(p)
	if err != nil {
		return nil, err
	}
	for _, name := range cfg.SecretEnv() {
		c.Secrets.Learn(name, c.Getenv(name))
	}
	c.Environ = c.Secrets.Environ(c.Environ)
	c.Event(EventConfigPath, "path", p.File, "found", cfg.Found())
	return cfg, nil
}

// JSON tells whether the answer will be an envelope.
func (c *Call) JSON() bool { return c.Global.Format == "json" }
