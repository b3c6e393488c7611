package sandbox

// Words by which claw-exec starts itself as the interpreter of a script, in a sandbox that is set up: the order comes
// on standard input, what it has to say goes to standard error.
const (
	confineWord = "confine"
	StageShell  = "--stage=shell"  // in a process namespace of its own
	StageShared = "--stage=shared" // in one that it shares
	StageBare   = "--stage=bare"   // without a sandbox
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
	data  *softLimit
	plain func() (ruleset int, err error) // of a program that may start others
}
