package memory

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ncruces/go-sqlite3"

	"clawsh/lib/record"
)

// transaction runs f between BEGIN IMMEDIATE and COMMIT, or ROLLBACK if f or COMMIT fails.
func transaction(conn *sqlite3.Conn, f func() error) error {
	if err := conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if err = conn.Exec("COMMIT"); err == nil {
			return nil
		}
	}
	// Some failures, a full disk among them, have rolled back already.
	if !conn.GetAutocommit() {
		err = errors.Join(err, conn.Exec("ROLLBACK"))
	}
	return err
}

func busy(err error) bool { return errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.LOCKED) }

// number returns the first column of the first row.
func number(conn *sqlite3.Conn, sql string) (int64, error) {
	var n int64
	err := first(conn, sql, func(st *sqlite3.Stmt) { n = st.ColumnInt64(0) })
	return n, err
}

// word is number for text.
func word(conn *sqlite3.Conn, sql string) (string, error) {
	var w string
	err := first(conn, sql, func(st *sqlite3.Stmt) { w = st.ColumnText(0) })
	return w, err
}

func first(conn *sqlite3.Conn, sql string, row func(*sqlite3.Stmt)) error {
	st, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer st.Close()
	if st.Step() {
		row(st)
	}
	return st.Err()
}

// errStop ends a query early without failing it.
var errStop = errors.New("stop")

// query runs a statement, kept prepared for the next time, and calls row for each of its rows; row may be nil.
func (s *Store) query(sql string, row func(*sqlite3.Stmt) error, args ...any) error {
	st, err := s.prepare(sql)
	if err != nil {
		return err
	}
	defer st.Reset()
	for i, a := range args {
		if err := bind(st, i+1, a); err != nil {
			return err
		}
	}
	for st.Step() {
		if row == nil {
			continue
		}
		if err := row(st); err == errStop {
			return nil
		} else if err != nil {
			return err
		}
	}
	return st.Err()
}

func (s *Store) prepare(sql string) (*sqlite3.Stmt, error) {
	if s.conn == nil {
		return nil, fs.ErrClosed
	}
	if st, ok := s.prepared[sql]; ok {
		return st, nil
	}
	st, _, err := s.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	if s.prepared == nil {
		s.prepared = map[string]*sqlite3.Stmt{}
	}
	s.prepared[sql] = st
	return st, nil
}

func (s *Store) closePrepared() error {
	var errs []error
	for _, st := range s.prepared {
		errs = append(errs, st.Close())
	}
	s.prepared = nil
	return errors.Join(errs...)
}

func bind(st *sqlite3.Stmt, i int, a any) error {
	switch a := a.(type) {
	case nil:
		return st.BindNull(i)
	case string:
		return st.BindText(i, a)
	case int:
		return st.BindInt(i, a)
	case int64:
		return st.BindInt64(i, a)
	case record.Raw:
		if len(a) == 0 {
			return st.BindNull(i)
		}
		return st.BindRawText(i, a)
	}
	return fmt.Errorf("bind parameter %d: no SQL type for %T", i, a)
}
