package test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/record"
)

// handle is a running chain.
type handle struct {
	c      *crash
	round  int
	stages []*exec.Cmd
	in     *os.File
	said   string        // the file with what the stages have said
	result chan struct{} // one for each result that came out
	read   sync.WaitGroup
}

// startChain starts the four stages. With tee set, what claw-receipt writes is read here on its way to claw-mem; else
// the two are connected directly, and it is read behind claw-mem.
func (c *crash) startChain(n int, tee bool) *handle {
	h := &handle{c: c, round: n, result: make(chan struct{}, 64)}
	stdin, in, err := os.Pipe()
	if err != nil {
		c.t.Error(err)
		return nil
	}
	h.in, h.said = in, filepath.Join(c.logs, strconv.Itoa(n))
	stderr, err := os.Create(h.said)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	defer stderr.Close()
	group := 0
	for _, name := range []string{"claw-gate", "claw-exec", "claw-receipt", "claw-mem"} {
		out, stdout, err := os.Pipe()
		if err != nil {
			c.t.Error(err)
			return nil
		}
		cmd := c.command(name)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
		err = cmd.Start()
		stdin.Close()
		stdout.Close()
		if err != nil {
			c.t.Errorf("start %s: %v", name, err)
			return nil
		}
		if group == 0 {
			group = cmd.Process.Pid
		}
		h.stages = append(h.stages, cmd)
		stdin = out
		if name == "claw-receipt" && tee {
			r, w, err := os.Pipe()
			if err != nil {
				c.t.Error(err)
				return nil
			}
			h.read.Go(func() { h.tee(out, w) })
			stdin = r
		}
	}
	if tee {
		h.read.Go(func() { io.Copy(io.Discard, stdin); stdin.Close() })
	} else {
		h.read.Go(func() { h.tee(stdin, nil) })
	}
	return h
}

// tee notes the results among the lines, and passes them on as long as somebody takes them.
func (h *handle) tee(from, to *os.File) {
	defer from.Close()
	if to != nil {
		defer to.Close()
	}
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // a line that is not whole has not come out
		}
		if h.c.note(line) {
			h.result <- struct{}{}
		}
		if to != nil {
			if _, err := to.Write(line); err != nil {
				return
			}
		}
	}
}

// note remembers a result, and tells whether it was one.
func (c *crash) note(line []byte) bool {
	var res record.ToolResult
	if err := record.DecodeOpen(line, &res); err != nil {
		c.t.Errorf("a line that came out is no record: %v: %s", err, line)
		return false
	}
	if res.Kind == record.KindError {
		c.t.Logf("instead of a result: %s", line)
	}
	if res.Kind != record.KindToolResult {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.seen[res.ReceiptID]; twice || res.ReceiptID == "" {
		c.t.Errorf("receipt %q came out twice, or is none: %s", res.ReceiptID, line)
	}
	c.seen[res.ReceiptID] = res
	return true
}

func (h *handle) wait() bool {
	select {
	case <-h.result:
		return true
	case <-time.After(patient):
		return false
	}
}

// end closes the input: then every stage must end, whichever was killed.
func (h *handle) end() {
	h.in.Close()
	done := make(chan struct{})
	go func() {
		for _, s := range h.stages {
			s.Wait()
		}
		h.read.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patient):
		h.c.t.Errorf("round %d: a stage does not end", h.round)
		syscall.Kill(-h.stages[0].Process.Pid, syscall.SIGKILL)
	}
}
