package sandbox

import "os/exec"

// Words by which claw-exec starts itself as the interpreter of a script, in a sandbox that is set up: the order comes on
// standard input, what it has to say goes to standard error.
const (
	confineWord = "confine"
	StageShell  = "--stage=shell"  // in a process namespace of its own
	StageShared = "--stage=shared" // in one that it shares
	StageBare   = "--stage=bare"   // without a sandbox
	StageLimit  = "--stage=limit"  // sets limits, and becomes a program
)

// What an interpreter has, where the limits of its programs are lower, and what it may have beside them.
const (
	InterpreterMemory   = 384 << 20 // of data
	InterpreterFiles    = 256       // open at a time
	interpreterThreads  = 24
	interpreterOverhead = 64 << 20 // of memory that is not counted as its programs'
)

// insidePath is where claw-exec is seen in a view.
const insidePath = "/run/claw-exec"

// interpreter is the program that interprets a script: our own.
func interpreter(path, stage string, p Program) Program {
	return Program{Argv: []string{path, confineWord, stage}, Dir: p.Dir, Env: []string{"GOMAXPROCS=2"}}
}

// Interpreter is claw-exec without a sandbox around it, as the interpreter of a script.
func Interpreter(path, dir string) Program { return interpreter(path, StageBare, Program{Dir: dir}) }

// Starter starts the programs of an interpreter that runs in the sandbox.
type Starter struct {
	// Memory and Files are the limits of each program where they are lower than the interpreter's; else 0.
	Memory int64
	Files  int
	// Reads are the directories in which a program that starts no other may read, beside what it needs of the system.
	Reads []string

	stage string
	self  string
	data  *softLimit
}

// limited puts our own program before one whose limits are lower than the interpreter's: it sets them, and becomes that.
func (s *Starter) limited(cmd *exec.Cmd) *exec.Cmd {
	if s.Memory == 0 && s.Files == 0 {
		return cmd
	}
	cmd.Args = append([]string{s.self, confineWord, StageLimit, number(s.Memory), number(int64(s.Files)), cmd.Path}, cmd.Args...)
	cmd.Path = s.self
	return cmd
}
