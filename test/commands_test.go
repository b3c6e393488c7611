package test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/itchyny/gojq"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"clawsh/docs"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

func containsText(s, sub string) bool { return strings.Contains(s, sub) }

// jq: jq FILE EXPR — EXPR over the array of all JSON lines of FILE must be true.
func jq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jq FILE EXPR")
	}
	lines := []any{}
	for _, l := range bytes.Split([]byte(ts.ReadFile(args[0])), []byte("\n")) {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		v, err := record.JQValue(l)
		if err != nil {
			ts.Fatalf("%s: %v: %s", args[0], err, l)
		}
		lines = append(lines, v)
	}
	q, err := gojq.Parse(args[1])
	ts.Check(err)
	v, _ := q.Run(lines).Next()
	if err, ok := v.(error); ok {
		ts.Fatalf("jq %s: %v", args[1], err)
	}
	if v != !neg {
		ts.Fatalf("%s is %v over %s:\n%s", args[1], v, args[0], ts.ReadFile(args[0]))
	}
}

// schema: schema FILE — each line must be a record, receipt or envelope as its JSON Schema has it.
func schema(ts *testscript.TestScript, neg bool, args []string) {
	for _, l := range bytes.Split([]byte(ts.ReadFile(args[0])), []byte("\n")) {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		err := validate(l)
		if neg && err == nil {
			ts.Fatalf("should not be valid: %s", l)
		}
		if !neg && err != nil {
			ts.Fatalf("%v\n%s", err, l)
		}
	}
}

// schemaName tells which schema a JSON line must follow.
func schemaName(line []byte) string {
	var probe struct {
		Kind          string `json:"kind"`
		SchemaVersion string `json:"schema_version"`
		ReceiptHash   string `json:"receipt_hash"`
	}
	record.DecodeOpen(line, &probe)
	switch {
	case probe.Kind != "":
		return probe.Kind
	case probe.SchemaVersion != "":
		return "envelope"
	}
	return "receipt"
}

// schemas are the compiled ones.
var schemas sync.Map

// validate checks one line against the schema of its kind, and what an envelope holds against that of the command, if
// there is one.
func validate(line []byte) error {
	name := schemaName(line)
	s, err := compiled(name)
	if err != nil {
		_, err = record.Parse(line) // a kind of somebody else's
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	if err := s.Validate(doc); err != nil || name != "envelope" {
		return err
	}
	return validateData(doc.(map[string]any))
}

// validateData checks what a command found against its schema. Other commands have names of records: audit.
func validateData(envelope map[string]any) error {
	name, _ := envelope["command"].(string)
	if name != "doctor" {
		return nil
	}
	s, err := compiled(name)
	if err != nil {
		return err
	}
	data := envelope["data"]
	if failure, ok := envelope["error"].(map[string]any); ok && data == nil {
		data = failure["details"]
	}
	if data == nil {
		return nil
	}
	return s.Validate(data)
}

func compiled(name string) (*jsonschema.Schema, error) {
	if s, ok := schemas.Load(name); ok {
		return s.(*jsonschema.Schema), nil
	}
	b, err := docs.FS.ReadFile("schemas/" + name + ".json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name+".json", doc); err != nil {
		return nil, err
	}
	s, err := c.Compile(name + ".json")
	if err == nil {
		schemas.Store(name, s)
	}
	return s, err
}

// step is one answer of the scripted HTTP server.
type step struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitzero"`
	Body    string            `json:"body"`
	DelayMS int               `json:"delay_ms"`
	Echo    bool              `json:"echo"`   // answers with the request's headers
	Open    bool              `json:"open"`   // after the body, until the client goes
	Append  string            `json:"append"` // a line for the configuration, which is broken before the answer
}

// serve: serve NAME FILE — starts an HTTP server on loopback that gives the answers in FILE, a JSON object a line, one
// after the other, the last one again and again. Its address is $NAME; the requests it got are in NAME.requests, their
// methods, paths and headers in NAME.headers.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	var steps []step
	for _, l := range strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n") {
		var s step
		ts.Check(record.Decode([]byte(l), &s))
		steps = append(steps, s)
	}
	log, heads := ts.MkAbs(args[0]+".requests"), ts.MkAbs(args[0]+".headers")
	var mu sync.Mutex
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		s := steps[min(n, len(steps)-1)]
		n++
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			var body bytes.Buffer
			body.ReadFrom(r.Body)
			fmt.Fprintf(f, "%s\n", bytes.ReplaceAll(body.Bytes(), []byte("\n"), []byte(" ")))
			f.Close()
		}
		if f, err := os.OpenFile(heads, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintf(f, "%s %s %v\n", r.Method, r.URL, r.Header)
			f.Close()
		}
		if s.Append != "" {
			extend(filepath.Join(ts.Getenv("CLAWSH_HOME"), "config.toml"), s.Append)
		}
		mu.Unlock()
		answer(w, r, s)
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

// extend adds a line to a file.
func extend(file, line string) {
	if f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, line)
		f.Close()
	}
}

func answer(w http.ResponseWriter, r *http.Request, s step) {
	if s.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(s.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	for k, v := range s.Headers {
		w.Header().Set(k, v)
	}
	if s.Status != 0 {
		w.WriteHeader(s.Status)
	}
	if s.Echo {
		fmt.Fprintf(w, "your header was %q. ", r.Header.Get("Authorization"))
	}
	w.Write([]byte(s.Body))
	if s.Open {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// records: records N FILE — writes N records of kinds that no stage knows.
func records(ts *testscript.TestScript, neg bool, args []string) {
	var b bytes.Buffer
	var n int
	fmt.Sscan(args[0], &n)
	for i := range n {
		fmt.Fprintf(&b,
			"{\"kind\" : \"x-%d\",\"n\":%d.50,\"text\":\"caf\\u00e9 \\/ %s\", \"deep\":{\"a\":[1,{\"b\":null}]}}\n",
			i%7, i, strings.Repeat("é", i%40))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o600))
}

// fifo: fifo FILE — makes a named pipe.
func fifo(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// kill9: kill9 NAME... — kills the processes of these names that a command of this script in the background has
// started, waiting for each to appear. All are stopped before any is killed: none sees another end.
func kill9(ts *testscript.TestScript, neg bool, args []string) {
	var pids []int
	for end := time.Now().Add(20 * time.Second); len(args) > 0; {
		found := named(ts, args[0])
		for _, pid := range found {
			ts.Check(syscall.Kill(pid, syscall.SIGSTOP))
		}
		if pids = append(pids, found...); len(found) > 0 {
			args = args[1:]
		} else if time.Now().After(end) {
			ts.Fatalf("there is no %s to kill", args[0])
		}
	}
	for _, pid := range pids {
		ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	}
}

// named are the processes of that name that commands in the background have started.
func named(ts *testscript.TestScript, name string) (pids []int) {
	for _, cmd := range ts.BackgroundCmds() {
		for _, pid := range process.Descendants(cmd.Process.Pid) {
			comm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
			if strings.TrimSpace(string(comm)) == name {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// absent: absent TEXT DIR — no file below DIR holds the text.
func absent(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(args[0])) {
			ts.Fatalf("%s holds %q", path, args[0])
		}
		return err
	}))
}
