package sandbox

import (
	"path/filepath"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// aloneRights are what a program that starts no other is held to: what it executes, and what it reads. Whatever the settings,
// links and pointers in a repository name, git reads it nowhere but where the call itself may read.
const aloneRights = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir

// systemReads are what a program needs to start and to speak its user's language: what distributions put there, and nothing of
// this machine. The rest of /usr and all of /etc are not among it.
var systemReads = []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
	"/usr/share/locale", "/usr/share/i18n", "/usr/share/zoneinfo", "/usr/share/git-core", "/usr/libexec/git-core",
	"/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom"}

// aloneExecutes are what may be executed for a program that starts no other: itself, the system's loaders of programs, and git
// where it keeps itself a second time.
func aloneExecutes(program string) []string {
	files := []string{program, "/usr/lib/git-core/git", "/usr/libexec/git-core/git"}
	for _, pattern := range []string{"/lib*/ld-*.so*", "/lib/*/ld-*.so*", "/usr/lib*/ld-*.so*", "/usr/lib/*/ld-*.so*"} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	return files
}

// allowAlone gives a rule set what a program that starts no other needs: to execute itself, and to read the system's libraries and
// what the call may read.
func allowAlone(ruleset int, reads []string, program string) error {
	for _, f := range aloneExecutes(program) {
		if err := allowBelow(ruleset, f, ll.AccessFSExecute|ll.AccessFSReadFile); err != nil {
			return err
		}
	}
	for _, path := range append(reads, systemReads...) {
		if err := allowBelow(ruleset, path, ll.AccessFSReadFile|ll.AccessFSReadDir); err != nil {
			return err
		}
	}
	return nil
}
