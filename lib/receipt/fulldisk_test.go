//go:build linux

package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"clawsh/test/need"
)

// TestMain lets the test binary be a process with a small disk of its own.
func TestMain(m *testing.M) {
	name := os.Getenv("RECEIPT_TEST_DISK")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := onSmallDisk(name, os.Getenv("RECEIPT_TEST_DIR")); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// smallDisks are what happens on full disks. Each is run in a process in which dir is an empty file system of 128 KiB.
var smallDisks = map[string]func(d *disk) error{
	"the disk is full":                             fullDisk,
	"the disk is full when the log is opened":      fullAtOpen,
	"the disk is full behind a torn line":          fullBehindTorn,
	"only the directory of the head is full":       fullHead,
	"the disk is full in the middle of a rotation": fullRotation,
}

// TestFullDisk: an append that a full disk makes fail says so; what was acknowledged stays, the log verifies while the
// disk is full, and goes on, in the same process and in a new one, once there is room.
func TestFullDisk(t *testing.T) {
	for name := range smallDisks {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "RECEIPT_TEST_DISK="+name, "RECEIPT_TEST_DIR="+t.TempDir())
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) || bytes.Contains(out, []byte(noMount)) {
				need.Skip(t, need.Namespaces, "this system lets nobody make a file system of one's own: %v %s", err,
					out)
			}
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		})
	}
}

// TestFileTooLarge: the same where no file may grow beyond a limit, which needs no file system of its own.
func TestFileTooLarge(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RECEIPT_TEST_DISK=limit", "RECEIPT_TEST_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const noMount = "cannot mount"

// disk is a log on a small disk, and the receipts that were acknowledged.
type disk struct {
	dir, path string
	o         Options
	l         *Log
	acked     []string
}

func onSmallDisk(name, dir string) error {
	if name != "limit" {
		if err := mount(dir); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, "receipts.log")
	d := &disk{dir: dir, path: path, o: Options{Keys: filepath.Join(dir, "keys")}}
	if name == "only the directory of the head is full" {
		if err := errors.Join(os.Mkdir(sideDir(path), 0o700), mount(sideDir(path))); err != nil {
			return err
		}
	}
	if _, err := CreateKeys(d.o.Keys, path); err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return err
	}
	if err := d.append(3); err != nil {
		return err
	}
	if name == "limit" {
		return fileTooLarge(d)
	}
	return smallDisks[name](d)
}

func mount(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k,mode=700"); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	return nil
}

func (d *disk) open() (err error) {
	d.l, err = OpenLog(d.path, d.o)
	return err
}

// append appends n receipts.
func (d *disk) append(n int) error {
	for range n {
		r, err := d.l.Append(result(len(d.acked)))
		if err != nil {
			return err
		}
		d.acked = append(d.acked, r.ID)
	}
	return nil
}

// appendUntil appends until it fails, and fails itself unless that is for this reason, and again the next time.
func (d *disk) appendUntil(reason error) error {
	if err := d.append(1000); !errors.Is(err, reason) {
		return fmt.Errorf("a thousand appends: %v, want %w", err, reason)
	}
	if err := d.append(1); !errors.Is(err, reason) {
		return fmt.Errorf("one more append: %v, want %w", err, reason)
	}
	return nil
}

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill takes all the room there is in a directory.
func fill(dir string) error {
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); errors.Is(err, unix.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// check verifies the log: every receipt that was acknowledged is there, once and in order, and so many that were not.
func (d *disk) check(head string, extra int) error {
	k, err := LoadKeys(d.o.Keys)
	if err != nil {
		return err
	}
	src, err := Open(d.path)
	if err != nil {
		return err
	}
	defer src.Close()
	rep, err := Verify(src, Trust{Keys: k})
	if err != nil || !rep.Valid || rep.TornTail || rep.Head != head || rep.Count != len(d.acked)+extra {
		return fmt.Errorf("%w; %+v; want %d receipts and %d more, head %s", err, rep, len(d.acked), extra, head)
	}
	src, err = Open(d.path)
	if err != nil {
		return err
	}
	defer src.Close()
	var there []string
	err = each(src, func(raw []byte, _ bool) error {
		r, err := Parse(raw)
		if slices.Contains(d.acked, r.ID) {
			there = append(there, r.ID)
		}
		return err
	})
	if err != nil || !slices.Equal(there, d.acked) {
		return fmt.Errorf("%w; acknowledged %v, in the log %v", err, d.acked, there)
	}
	return nil
}

// goOn appends in this process and, as it were, in a new one.
func (d *disk) goOn(extra int) error {
	if err := d.append(2); err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	if err := d.check(Agrees, extra); err != nil {
		return err
	}
	if err := errors.Join(d.l.Close(), d.open(), d.append(2)); err != nil {
		return fmt.Errorf("there is room again, in a new process: %w", err)
	}
	return d.check(Agrees, extra)
}

func fullDisk(d *disk) error {
	if err := errors.Join(fill(d.dir), d.appendUntil(unix.ENOSPC), d.check(Agrees, 0),
		os.Remove(d.filler())); err != nil {
		return err
	}
	return d.goOn(0)
}

func fullAtOpen(d *disk) error {
	if err := errors.Join(fill(d.dir), d.appendUntil(unix.ENOSPC), d.l.Close()); err != nil {
		return err
	}
	if err := d.open(); err == nil {
		err = d.append(1)
		if !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("append: %w", err)
		}
	} else if !errors.Is(err, unix.ENOSPC) {
		return err
	}
	if err := errors.Join(d.check(Agrees, 0), os.Remove(d.filler())); err != nil {
		return err
	}
	return d.goOn(0)
}

// fullBehindTorn: a process died in the middle of a write, and there is no room to keep what it left.
func fullBehindTorn(d *disk) error {
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	torn := `{"id":"receipt-0198`
	if _, err := f.WriteString(torn); err != nil {
		return err
	}
	if err := errors.Join(f.Close(), fill(d.dir)); err != nil {
		return err
	}
	if err := d.append(1); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("append behind a torn line on a full disk: %w", err)
	}
	raw, err := os.ReadFile(d.path)
	if err != nil || !strings.HasSuffix(string(raw), torn) {
		return fmt.Errorf("what the process left is gone, and kept nowhere: %w", err)
	}
	if err := os.Remove(d.filler()); err != nil {
		return err
	}
	return d.goOn(0)
}

// fullHead: the head that is there is overwritten, which takes no room. When it gets longer, from the tenth receipt on,
// it has to be replaced: then the receipt is in the log, and not acknowledged.
func fullHead(d *disk) error {
	if err := fill(sideDir(d.path)); err != nil {
		return err
	}
	if err := d.appendUntil(unix.ENOSPC); err != nil {
		return err
	}
	if len(d.acked) != 9 {
		return fmt.Errorf("%d receipts were acknowledged, want 9", len(d.acked))
	}
	extra := 2 // appendUntil failed twice
	if err := errors.Join(d.check(Behind, extra), os.Remove(filepath.Join(sideDir(d.path), "filler"))); err != nil {
		return err
	}
	return d.goOn(extra)
}

// fullRotation: there is room for receipts, and not for the part that they are to become.
func fullRotation(d *disk) error {
	d.o.RotateBytes = 20 << 10
	if err := errors.Join(d.l.Close(), d.open(), d.append(25), fill(d.dir)); err != nil {
		return err
	}
	// room for a part that is not whole
	if err := errors.Join(os.Truncate(d.filler(), size(d.filler())-(12<<10)), d.appendUntil(unix.ENOSPC),
		d.check(Agrees, 0)); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(sideDir(d.path), "*"))
	hidden, _ := filepath.Glob(filepath.Join(sideDir(d.path), ".*"))
	if left = append(left, hidden...); err != nil || len(left) != 1 {
		return fmt.Errorf("beside the log lies %v, want the head alone", left)
	}
	if size(d.path) < 19<<10 {
		return fmt.Errorf("the log has %d bytes: it was not the rotation that failed", size(d.path))
	}
	if err := os.Remove(d.filler()); err != nil {
		return err
	}
	if err := d.goOn(0); err != nil {
		return err
	}
	if n, err := countParts(d.path); err != nil || n != 1 {
		return fmt.Errorf("%d parts: %w", n, err)
	}
	return nil
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// fileTooLarge lets the log grow by a receipt and a half.
func fileTooLarge(d *disk) error {
	limit := func(n uint64) error {
		var now syscall.Rlimit
		err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now)
		return errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: now.Max}))
	}
	before := uint64(size(d.path))
	if err := errors.Join(limit(before+before/2), d.appendUntil(unix.EFBIG), d.check(Agrees, 0)); err != nil {
		return err
	}
	if len(d.acked) != 4 {
		return fmt.Errorf("%d receipts were acknowledged, want 4", len(d.acked))
	}
	if err := limit(1 << 20); err != nil {
		return err
	}
	return d.goOn(0)
}
