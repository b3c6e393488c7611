// Command attack is run inside the sandbox, attempts each thing that is forbidden there, and prints what it could do: a
// line "possible NAME" each. It refuses to run anywhere else.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attempt is one thing that must not work. Its name begins with the guarantee that it is about.
type attempt struct {
	name string
	try  func() error
}

func main() {
	if err := inSandbox(); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		syscall.Exit(64)
	}
	if len(os.Args) > 1 {
		mode(os.Args[1])
		return
	}
	possible, all := 0, attempts()
	for _, a := range all {
		done := make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			done <- a.try()
		}()
		select {
		case err := <-done:
			if err == nil {
				fmt.Println("possible " + a.name)
				possible++
			}
		case <-time.After(2 * time.Second):
			fmt.Println("silent " + a.name) // nothing came of it
		}
	}
	for _, w := range works() {
		if err := w.try(); err != nil {
			fmt.Printf("broken %s: %v\n", w.name, err)
		}
	}
	fmt.Println("tried", len(all))
}

// inSandbox refuses to attack a machine that nothing protects.
func inSandbox() error {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || nnp != 1 || os.Getenv("CLAWSH_ATTACK") != "1" {
		return fmt.Errorf("this runs in the sandbox only")
	}
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode != 2 {
		return fmt.Errorf("this runs under a filter only")
	}
	return nil
}

// mode does one thing without end.
func mode(name string) {
	switch name {
	case "int80", "x32", "x32-exec":
		foreign(name)
		syscall.Exit(0)
	case "memory-shared":
		for n := 0; ; n++ {
			b, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
			if err != nil {
				fmt.Println("refused after", n*16, "MiB")
				syscall.Exit(3)
			}
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
		}
	case "output":
		b := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				syscall.Exit(4)
			}
		}
	}
	syscall.Exit(64)
}

// world is what is planted around the sandbox, as the test tells it.
type world struct {
	dir  string // the workspace
	name string // of new files
	pid  string // of a process of the same user outside
	// Files of the user: secret ones, one in the user's /tmp, one that may be read.
	hidden   []string
	tmp      string
	readable string
}

func attempts() []attempt {
	dir, _ := os.Getwd()
	w := world{dir: dir, name: "attack-" + fmt.Sprint(os.Getpid()), pid: os.Getenv("ATTACK_PID"),
		hidden: list("ATTACK_HIDDEN"),
		tmp:    os.Getenv("ATTACK_TMP"), readable: os.Getenv("ATTACK_READABLE")}
	return slices.Concat(w.sockets(), w.refusedCalls(), w.requests(), w.namespaces(), w.metadata(), w.secrets(),
		w.places(), w.protected(),
		w.modes(), w.processes(), w.self(), w.descriptors(), w.machines())
}
