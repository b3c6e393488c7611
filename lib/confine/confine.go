// Package confine lets a program of ours give up permanently, when it starts, every right that it does not need:
// files outside its row, the network, starting programs, tracing, rarely used parts of the kernel. No later mistake
// of the program can use what it gave up, and neither can the programs that it starts.
//
// On Linux this is Landlock for files and ports, a seccomp filter for system calls, no_new_privs, and memory that
// other processes of the user cannot look into. On other systems nothing is given up, and the report says so.
//
// Landlock does not govern stat(2) and readlink(2): a program that may not read a file can still see that it is there.
package confine

// Access lists the rights that a program keeps. Paths that do not exist are ignored.
type Access struct {
	Read []string // files, and directories with all below them, to read
	List []string // directories whose names, and those of all below, may be listed
	Own  []string // files to read and write, created if they are missing
	// directories in which files may be created and removed; reading or writing those needs a rule of its own
	Names []string
	Write []string // directories with all below them to read and write

	// Terminal is the controlling terminal's own device, or /dev/tty if that is not known, for programs that ask
	// questions: they may then open /dev/tty, and look at this device.
	Terminal string

	Network bool     // may make internet sockets, for TCP and UDP
	Connect []uint16 // and connect to these TCP ports; nil is any
	Exec    bool     // may start programs; otherwise it may create threads but no processes

	// Stages means that the program starts our stages, which inherit what it gives up: so it gives up only what no
	// stage needs. claw-exec makes namespaces and mounts.
	Stages bool
	// Debuggable leaves the process's memory open to other processes of the user, which is needed to make user
	// namespaces.
	Debuggable bool
}

// Report says what is in force.
type Report struct {
	LandlockABI int    // 0: none
	Filter      string // SHA-256 of the seccomp filter, "" for none
	Lacking     string // why something is not in force, "" if everything is
}
