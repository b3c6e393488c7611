// Package command is the command line of every clawsh program, once: a table of commands drives parsing, help, shell
// completion, the JSON envelope, exit codes, logs and signals.
//
// A program's main is a table:
//
//	command.Main(command.App{Name: "claw-gate", Summary: "…", Commands: []command.Command{filter(), check()}})
//
// A Command's Run returns a typed Result, which is printed as text or, with --output-format json, inside the envelope
// of package envelope; --jq applies a jq expression to that envelope. Failures take the same ways. Main is the only
// caller of os.Exit in clawsh.
package command

import (
	"cmp"
	"context"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"clawsh/lib/config"
	"clawsh/lib/confine"
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
	// Access is what the program keeps of the system, but for commands that say so themselves (Command.Access). Without
	// it, it keeps everything.
	Access Access
	// NoWorkspace is set if none of its commands has a use for the workspace.
	NoWorkspace bool
	// Values gives the values of flags by their names, for the shell's completion, where a command does not give them
	// itself.
	Values map[string]Complete
	// Commands is the table. The command with an empty Name is what the program does without one.
	Commands []Command
}

// Access says what a command keeps of the system while it runs; everything else is given up before (package confine).
// The configuration is nil if it cannot be read: the command will say why.
type Access func(c *Call, cfg *config.Config) confine.Access

// Unconfined is the Access of commands that keep everything.
func Unconfined(*Call, *config.Config) confine.Access {
	return confine.Access{Stages: true, Debuggable: true}
}

// Command is one row of the table.
type Command struct {
	// Name is what is typed, words separated by blanks, such as "config validate"; empty for the program itself.
	Name string
	// Envelope is the command's name in the JSON envelope. Empty means the first of Offered, else Name, or the
	// program's name if that is empty too.
	Envelope string
	// Offered are the names under which clawsh offers a command of a stage, such as "memory search".
	Offered []string
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
	// OwnSignals commands take SIGINT, SIGTERM and SIGHUP from Call.Signals; for others they cancel the context.
	OwnSignals bool
	// Complete gives the values that an argument may have, and CompleteFlags those of flags, for the shell's
	// completion.
	Complete      Complete
	CompleteFlags map[string]Complete
	// Relay completes a HandOver command.
	Relay Relay
	// Flags declares the command's own flags.
	Flags func(*pflag.FlagSet)
	// Access is what this command keeps, if that is not what the App says.
	Access Access
	// Run does the work.
	Run func(ctx context.Context, c *Call) (Result, error)
}

// envelope is the command's name in the JSON envelope of the program.
func (c Command) envelope(app string) string {
	if c.Envelope == "" && len(c.Offered) > 0 {
		return c.Offered[0]
	}
	return cmp.Or(c.Envelope, c.Name, app)
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
	// Signals delivers SIGINT, SIGTERM and SIGHUP to commands with OwnSignals.
	Signals <-chan Signal
	// Changed tells whether a flag was given on the command line.
	Changed func(flag string) bool
	// Global holds the global flags as they were given, to be passed on to another program.
	Global Global
	// Bare tells that nothing was typed behind the program's name.
	Bare bool
	// Raw holds everything behind the command's name, for HandOver commands.
	Raw []string

	noWorkspace bool

	loaded   *loaded
	jsonLog  bool
	help     func(name string) Help
	unknown  func(word string) error
	complain func(error)
	print    func(w io.Writer, res Result, err error) error
}

// Global are the flags that every command has.
type Global struct {
	As        string // what was typed, where clawsh has handed over
	Config    string
	Workspace string // -C
	Format    string
	JQ        string
}

// Paths says where the configuration is, following --config, CLAWSH_CONFIG and CLAWSH_HOME, and which workspace -C
// names.
func (c *Call) Paths() (config.Paths, error) {
	p, err := config.Locate(c.Global.Config, c.Getenv)
	p.Workspace, p.NoWorkspace = c.Global.Workspace, c.noWorkspace
	return p, err
}

// Config loads the configuration, once, and logs its path.
func (c *Call) Config() (*config.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return nil, err
	}
	c.Event(EventConfigPath, "path", cfg.File, "found", cfg.Found())
	return cfg, nil
}

func (c *Call) load() (*config.Config, error) {
	if c.loaded == nil {
		l := &loaded{}
		p, err := c.Paths()
		if err == nil {
			l.config, err = config.Load(p)
		}
		if err == nil {
			c.learn(l.config)
		}
		l.err = err
		c.loaded = l
	}
	return c.loaded.config, c.loaded.err
}

// learn makes secrets of the variables that the configuration names for keys.
func (c *Call) learn(cfg *config.Config) {
	for _, name := range cfg.SecretEnv() {
		c.Secrets.Learn(name, c.Getenv(name))
	}
	c.Environ = c.Secrets.Environ(c.Environ)
}

// Reload reads the configuration again, as it is now.
func (c *Call) Reload() (*config.Config, error) {
	p, err := c.Paths()
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(p)
	if err == nil {
		c.learn(cfg)
	}
	return cfg, err
}

// Again says how people begin anew what has to: claw-loop starts its stages again by itself.
func (c *Call) Again() string {
	if c.Getenv("CLAWSH_DRIVEN") != "" {
		return "send the message again"
	}
	return "start again"
}

// loaded is a configuration that was read, or why it could not be.
type loaded struct {
	config *config.Config
	err    error
}

// JSON tells whether the answer will be an envelope.
func (c *Call) JSON() bool { return c.Global.Format == "json" }
