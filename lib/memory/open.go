package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"clawsh/lib/durable"
	"clawsh/lib/envelope"
)

// Options say how a Store is opened. BusyTimeout is how long to wait for other processes; 0 means a minute, enough for
// what takes long elsewhere: to delete from a large file.
type Options struct {
	ReadOnly    bool
	Kept        bool // the companion files stay when the last process closes the file
	BusyTimeout time.Duration
}

// Store is an open memory. Its methods may be called from several goroutines; they run one at a time.
type Store struct {
	mu       sync.Mutex
	path     string
	uri      string
	conn     *sqlite3.Conn
	prepared map[string]*sqlite3.Stmt
	fts      bool            // FTS5 is registered
	begun    map[string]bool // conversations that this Store has added to
	synced   bool            // the directory has been synced since the -wal file was made
}

// Prepare makes what a Store needs beside the file that is at path, or is to be: for a process that may make no more
// files from then on. A file that is new, blank or not in WAL mode is made ready, unless for reading only. It returns
// the files that such a Store touches; those of a Store with Kept stay there when it is closed, and are empty then.
func Prepare(path string, o Options) []string {
	real, err := locate(path, o.ReadOnly)
	if err != nil {
		return nil // Open will say so
	}
	if !o.ReadOnly && !inWAL(real) {
		if s, err := Open(path, Options{Kept: true, BusyTimeout: o.BusyTimeout}); err == nil {
			s.Close()
		}
	}
	makeCompanions(real)
	return []string{real, real + "-wal", real + "-shm"}
}

// inWAL tells whether the file says that it is in WAL mode (https://sqlite.org/fileformat.html, 1.3).
func inWAL(real string) bool {
	f, err := os.Open(real)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [20]byte
	_, err = f.ReadAt(head[:], 0)
	return err == nil && head[18] == 2 && head[19] == 2
}

// keep lets the companion files stay, the log empty, when the last process closes the file.
func keep(conn *sqlite3.Conn) error {
	if _, err := conn.FileControl("main", sqlite3.FCNTL_PERSIST_WAL, true); err != nil {
		return err
	}
	return conn.Exec(`PRAGMA journal_size_limit=0`)
}

// perConnection is what SQLite does not keep in the file.
const perConnection = `PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON;
PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY;`

// Open opens the memory at path and, unless read-only, creates it if the file is missing or has no bytes. The directory
// must exist. A read-only Store on a file that is missing or blank is ErrNotFound. A file of an earlier
// version is migrated first, or read as it is; no schema work is done on one of the current version.
func Open(path string, o Options) (*Store, error) {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = time.Minute
	}
	real, err := locate(path, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	if err := beheaded(real); err != nil {
		return nil, err
	}
	s, err := openAt(real, o, "")
	// A reader in a directory that it cannot write to fails for want of a -shm file. Without a log there is no writer
	// either, and the file can be read as it is.
	if o.ReadOnly && (errors.Is(err, sqlite3.CANTOPEN) || errors.Is(err, sqlite3.READONLY)) && !hasLog(real) {
		s, err = openAt(real, o, "&immutable=1")
	}
	if errors.Is(err, sqlite3.NOTADB) {
		err = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if errors.Is(err, ErrForeign) {
		err = envelope.Errorf(envelope.ExitError, "foreign_file", "open memory %s: %w", path, err).
			WithHint("set memory.path to another file, or move this one away")
		return nil, err
	}
	if errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.IOERR) {
		return nil, envelope.Errorf(envelope.ExitError, "memory.damaged", "open memory %s: %w", path, err).
			WithHint("restore a backup made by claw-mem backup; without one, move %s and its -wal and -shm files away, "+
				"to begin with an empty memory", real)
	}
	if err != nil {
		return nil, fmt.Errorf("open memory %s: %w", path, err)
	}
	return s, nil
}

// openAt connects and makes sure that the file is ours.
func openAt(real string, o Options, extra string) (_ *Store, err error) {
	flags := sqlite3.OPEN_URI | sqlite3.OPEN_NOFOLLOW | sqlite3.OPEN_READWRITE
	if o.ReadOnly {
		flags = sqlite3.OPEN_URI | sqlite3.OPEN_NOFOLLOW | sqlite3.OPEN_READONLY
	}
	if extra == "" {
		makeCompanions(real)
	}
	// modeof: companions that SQLite makes itself get the mode of the file, whatever the umask.
	uri := url.URL{Scheme: "file", Path: real, RawQuery: "modeof=" +
		strings.ReplaceAll(url.QueryEscape(real), "+", "%20") + extra}
	conn, err := sqlite3.OpenFlags(uri.String(), flags)
	if err != nil {
		return nil, err
	}
	s := &Store{path: real, uri: uri.String(), conn: conn}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := conn.BusyTimeout(o.BusyTimeout); err != nil {
		return nil, err
	}
	if err := conn.Exec(perConnection); err != nil {
		return nil, err
	}
	version, err := inspect(conn)
	if err != nil {
		return nil, err
	}
	if o.ReadOnly {
		return s, s.prepareToRead(version)
	}
	if err := s.prepareToWrite(version, o.BusyTimeout); err != nil {
		return nil, err
	}
	if o.Kept {
		err = keep(conn)
	}
	return s, err
}

func (s *Store) prepareToRead(version int) error {
	switch version {
	case 0:
		return notFound("run: clawsh init", "the file is empty")
	case 1, 2, 3:
		return s.conn.Exec(over(version))
	}
	return nil
}

func (s *Store) prepareToWrite(version int, wait time.Duration) error {
	if err := useWAL(s.conn, wait); err != nil {
		return err
	}
	if version == schemaVersion {
		return nil
	}
	if err := s.registerFTS(); err != nil {
		return err
	}
	if err := s.migrate(wait); err != nil {
		return fmt.Errorf("make the tables of version %d: %w", schemaVersion, err)
	}
	return s.syncDirectory()
}

// migrateWait is how long a process waits for another one that migrates a large file.
const migrateWait = 10 * time.Minute

func (s *Store) migrate(wait time.Duration) error {
	if err := s.conn.BusyTimeout(max(wait, migrateWait)); err != nil {
		return err
	}
	return errors.Join(migrate(s.conn), s.conn.BusyTimeout(wait))
}

// Close closes the file. The last process to close it folds the log into it. Closing twice is harmless; other methods
// fail with fs.ErrClosed from then on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.closePrepared(), s.conn.Close()); err != nil {
		return fmt.Errorf("close memory %s: %w", s.path, err)
	}
	s.conn = nil
	return nil
}

// registerFTS costs 0.2 ms, which listing and showing need not pay.
func (s *Store) registerFTS() error {
	if s.conn == nil {
		return fs.ErrClosed
	}
	if s.fts {
		return nil
	}
	if err := fts5.Register(s.conn); err != nil {
		return fmt.Errorf("register full-text search: %w", err)
	}
	s.fts = true
	return nil
}

// syncDirectory makes the names of the file and its log durable; SQLite's file layer here syncs only what is in them.
func (s *Store) syncDirectory() error {
	if s.synced {
		return nil
	}
	if err := durable.SyncDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	s.synced = true
	return nil
}

// locate resolves the directory's symbolic links and makes sure that path is a file of mode 0600, or missing if a
// reader asks.
func locate(path string, readOnly bool) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open memory: %w", err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, fs.ErrNotExist) {
		return "", notFound("run: clawsh init", "open memory %s: its directory", path)
	}
	if err != nil {
		return "", fmt.Errorf("open memory %s: %w", path, err)
	}
	real := filepath.Join(dir, filepath.Base(abs))
	info, err := os.Lstat(real)
	if errors.Is(err, fs.ErrNotExist) {
		if readOnly {
			return "", notFound("run: clawsh init", "open memory %s", path)
		}
		return real, makePrivate(real)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("open memory: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return "", envelope.Errorf(envelope.ExitError, "symlink", "open memory %s: it is a symbolic link", path).
			WithHint("set memory.path to the file that it points to")
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("open memory %s: it is not a regular file", path)
	case !readOnly && info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(real, 0o600); err != nil {
			return "", fmt.Errorf("open memory: others can read the file: %w", err)
		}
	}
	return real, nil
}

// makePrivate creates a file of mode 0600, unless there is one.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return f.Close()
}

// makeCompanions creates the companion files before SQLite does so with mode 0666. Failure is not an error here:
// SQLite will say what is wrong, if anything is. A blank file gets no log: SQLite takes that for a leftover, and of
// several processes that delete it all but one fail.
func makeCompanions(real string) {
	_ = makePrivate(real + "-shm")
	if info, err := os.Stat(real); err == nil && info.Size() > 0 {
		_ = makePrivate(real + "-wal")
	}
}

// beheaded refuses a file without a byte that has a log: SQLite would throw the log away, and with it all that is in
// it, and begin an empty memory. The log is looked at first: where there is one, the file has had its first page
// before.
func beheaded(real string) error {
	if !hasLog(real) {
		return nil
	}
	info, err := os.Stat(real)
	if err != nil || info.Size() > 0 {
		return err
	}
	return envelope.Errorf(envelope.ExitError, "memory.damaged",
		"open memory %s: the file is empty, but its log is not, so it was truncated or replaced", real).
		WithHint("restore a backup made by claw-mem backup; or, to begin with an empty memory, move %s-wal away", real)
}

func hasLog(real string) bool {
	info, err := os.Stat(real + "-wal")
	return err == nil && info.Size() > 0
}
