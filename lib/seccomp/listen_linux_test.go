package seccomp

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"clawsh/test/need"
)

// Where somebody else's filter has the listener, ours is refused, and the error says why.
func TestListenBesideAnotherListener(t *testing.T) {
	all, err := Filter{Default: Allow}.Assemble()
	if err != nil {
		need.Skip(t, need.Seccomp, "%v", err)
	}
	done := make(chan [2]error)
	go func() {
		runtime.LockOSThread() // the thread ends with its filters
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err != nil {
			done <- [2]error{err, nil}
			return
		}
		first, err := all.Listen()
		_, again := all.Listen()
		unix.Close(first)
		done <- [2]error{err, again}
	}()
	errs := <-done
	if errors.Is(errs[0], unix.EBUSY) {
		need.Skip(t, need.Listener, "%v", errs[0])
	}
	if err := errs[1]; errs[0] != nil || !errors.Is(err, unix.EBUSY) ||
		!strings.Contains(err.Error(), "only listener") {
		t.Errorf("%v", errs)
	}
}
