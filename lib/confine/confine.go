// Package confine lets a program of ours give up, at its start and for good, what it has no use for (DESIGN §5): files outside
// its row, the network, starting programs, tracing, the odd corners of the kernel. What it gives up, no later mistake of its
// own can use; what it starts has given it up too.
//
// On Linux this is Landlock for files and ports, a seccomp filter for system calls, no_new_privs, and memory that other
// processes of the user cannot look into. Elsewhere nothing is given up, and the report says so.
//
// Landlock does not govern stat(2) and readlink(2): a program that may not read a file can still see that it is there.
package confine

// Access is what a program keeps. Paths that do not exist are left out.
type Access struct {
	Read  []string // files, and directories with all below them, to read
	List  []string // directories whose names, and those of all below, may be listed
	Own   []string // files to read and write, made if they are missing
	Names []string // directories in which files may be made and removed: what they hold still needs a rule of its own
	Write []string // directories with all below them to read and write

	// Terminal is the controlling terminal's own device, or /dev/tty if that is not known, for who asks questions: it may
	// open /dev/tty then, and look at this one.
	Terminal string

	Network bool     // may make internet sockets, for TCP and UDP
	Connect []uint16 // and connect to these TCP ports; nil is any
	Exec    bool     // may start programs; else it has threads and no further process

	// Stages tells that the program starts stages of ours, which inherit what it gives up: then only that is given up which
	// no stage has a use for. claw-exec makes namespaces and mounts.
	Stages bool
	// Debuggable leaves the memory of the process open to others of the user: needed by what makes user namespaces.
	Debuggable bool
}

// Report says what is in force.
type Report struct {
	LandlockABI int    // 0: none
	Filter      string // SHA-256 of the seccomp filter, "" for none
	Lacking     string // why something is not in force, "" if everything is
}
