package memory

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"clawsh/lib/conversation"
	"clawsh/lib/record"
)

// The test binary runs itself as a child that writes to the store at CHILD_STORE.
func TestMain(m *testing.M) {
	if path := os.Getenv("CHILD_STORE"); path != "" {
		if err := child(path, os.Getenv("CHILD_NAME"), os.Getenv("CHILD_MODE")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child puts 50 records, or endlessly many, and says on stdout which are acknowledged.
func child(path, name, mode string) error {
	if mode == "full" {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 256 << 10, Max: 256 << 10}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
	}
	if mode == "open" {
		return slowMigration(path)
	}
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	for i := 0; mode != "count" || i < 50; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		b, _ := record.Encode(record.User{V: 1, Kind: record.KindUser, ID: id, ConversationID: "conv-" + name,
			TurnID: "turn-" + id, Content: "message " + id + strings.Repeat(" word", 20)})
		line, err := record.Parse(b)
		if err != nil {
			return err
		}
		if err := s.Put(line, ""); err != nil {
			fmt.Println("failed:", err)
			return s.Close()
		}
		fmt.Println(id)
	}
	return s.Close()
}

// slowMigration migrates and says so all the while, so that whoever reads it can kill it at any moment.
func slowMigration(path string) error {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = errors.Join(fts5.Register(conn),
		conn.CreateFunction("tick", 1, 0, func(_ sqlite3.Context, _ ...sqlite3.Value) { fmt.Println("tick") }),
		conn.Exec(`PRAGMA synchronous=FULL; PRAGMA cache_size=20; CREATE TEMP TRIGGER ticks AFTER UPDATE ON main.entries WHEN new.id % 25 = 0 BEGIN SELECT tick(new.id); END`))
	if err != nil {
		return err
	}
	return migrate(conn)
}

func startChild(t *testing.T, path, name, mode string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHILD_STORE="+path, "CHILD_NAME="+name, "CHILD_MODE="+mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// verify checks both indexes against the entries, the file, and that all ids are there and can be found.
func verify(t *testing.T, s *Store, ids []string) {
	t.Helper()
	if err := s.registerFTS(); err != nil {
		t.Fatal(err)
	}
	if result, err := word(s.conn, "PRAGMA integrity_check"); result != "ok" {
		t.Fatalf("integrity: %s %v", result, err)
	}
	for _, index := range []string{"entry_words", "entry_trigrams"} {
		if err := s.conn.Exec(fmt.Sprintf("INSERT INTO %[1]s(%[1]s, rank) VALUES ('integrity-check', 0)",
			index)); err != nil {
			t.Fatalf("%s: %v", index, err)
		}
	}
	for _, id := range ids {
		found, err := s.entries("WHERE record_id = ?", id)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s was acknowledged and is lost (%v)", id, err)
		}
	}
	if len(ids) > 0 {
		if hits, err := s.Search(ids[len(ids)-1], SearchOptions{}); err != nil || len(hits) == 0 {
			t.Fatalf("%s is not found: %v", ids[len(ids)-1], err)
		}
	}
}

func TestEightWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.sqlite") // they race to create it, too
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	for i := range 8 {
		cmd, out := startChild(t, path, fmt.Sprintf("w%d", i), "count")
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	var ids []string
	for i, cmd := range cmds {
		for outs[i].Scan() {
			ids = append(ids, outs[i].Text())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("writer %d: %v: %s", i, err, ids[len(ids)-1])
		}
	}
	if len(ids) != 8*50 {
		t.Fatalf("%d acknowledged", len(ids))
	}
	verify(t, openAtPath(t, path), ids)
}

// Short-lived programs open, write or read, and close all the time; the last one to close removes the log.
func TestOpenersAndClosers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.sqlite")
	s := openAtPath(t, path)
	say(t, s, "first", "c", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 20 {
				s, err := Open(path, Options{ReadOnly: g >= 4})
				if err != nil {
					t.Errorf("open (%d): %v", g, err)
					return
				}
				if g >= 4 {
					_, err = s.Search("hello", SearchOptions{})
				} else {
					err = s.Put(parse(t, "user", fmt.Sprintf("%d-%d", g, i), "c", "t", `"content":"hello"`), "")
				}
				if err := errors.Join(err, s.Close()); err != nil {
					t.Errorf("use (%d): %v", g, err)
				}
			}
		})
	}
	wg.Wait()
	s = openAtPath(t, path)
	if list, err := s.Conversations(0); err != nil || list[0].Entries != 4*20+1 {
		t.Errorf("%+v %v", list, err)
	}
	verify(t, s, nil)
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.sqlite")
	var ids []string
	for round := range 10 {
		cmd, out := startChild(t, path, fmt.Sprintf("round%d", round), "endless")
		for n := 1 + rand.IntN(40); n > 0 && out.Scan(); n-- {
			ids = append(ids, out.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() { // acknowledged before it died
			if id := out.Text(); strings.HasPrefix(id, "round") {
				ids = append(ids, id)
			}
		}
		cmd.Wait()
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		verify(t, s, ids)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.sqlite")
	cmd, out := startChild(t, path, "full", "full")
	var ids []string
	failure := ""
	for out.Scan() {
		if strings.HasPrefix(out.Text(), "failed:") {
			failure = out.Text()
			break
		}
		ids = append(ids, out.Text())
	}
	cmd.Wait()
	if failure == "" || len(ids) == 0 {
		t.Fatalf("%d acknowledged, failure %q", len(ids), failure)
	}
	s := openAtPath(t, path)
	verify(t, s, ids)
	say(t, s, "after", "conv-full", "there is room again")
}

func TestFullDatabaseStaysUsable(t *testing.T) {
	s := openTemp(t)
	say(t, s, "first", "c", "before")
	pages, err := number(s.conn, "PRAGMA page_count")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := number(s.conn, fmt.Sprintf("PRAGMA max_page_count=%d", pages+5)); err != nil {
		t.Fatal(err)
	}
	big := parse(t, "user", "big", "c", "t", `"content":"big `+strings.Repeat("large ", 20000)+`"`)
	for range 3 {
		if err := s.Put(big, ""); err == nil || !strings.Contains(err.Error(), "full") {
			t.Fatalf("put into a full file: %v", err)
		}
	}
	if hits, err := s.Search("before", SearchOptions{}); err != nil || len(hits) != 1 {
		t.Errorf("search in a full file: %v %v", hits, err)
	}
	if _, err := number(s.conn, "PRAGMA max_page_count=1000000"); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(big, ""); err != nil {
		t.Error(err)
	}
	verify(t, s, []string{"first", "big"})
}

func TestUseAfterClose(t *testing.T) {
	s := openTemp(t)
	say(t, s, "u", "conv-1", "x")
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, searchErr := s.Search("x", SearchOptions{})
	_, listErr := s.Conversations(0)
	_, _, showErr := s.Show("conv-1")
	_, contextErr := s.Context("conv-1", conversation.Budget{})
	_, clearErr := s.Clear()
	putErr := s.Put(parse(t, "user", "u2", "c", "t", ""), "")
	for i, err := range []error{searchErr, listErr, showErr, contextErr, clearErr, putErr} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("method %d on a closed store: %v", i, err)
		}
	}
}
