package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"clawsh/lib/card"
	"clawsh/lib/process"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// serverFD is the server's end of the connection (process.StartHelper).
const serverFD = 3

// maxRunning bounds the requests that run at a time. A client makes one after the other, and may have given up some
// that take their time to end.
const maxRunning = 8

// confiner is a sandbox.Sandbox.
type confiner interface {
	Run(context.Context, sandbox.Adapt, sandbox.Program, sandbox.Streams) (sandbox.Exit, sandbox.Report, error)
}

// server does what its client may not do itself.
type server struct {
	Options
	conn        *conn
	homes       string // the directory for private homes
	sandbox     confiner
	unavailable error // why there is no sandbox

	mu      sync.Mutex
	running map[int]context.CancelFunc
	work    sync.WaitGroup
}

// Serve is the server that Start has started: it answers until its client has ended, and kills then what still runs.
func Serve(ctx context.Context, o Options, homes string) error {
	c, err := newConn(os.NewFile(serverFD, "client"))
	if err != nil {
		return fmt.Errorf("connect to claw-exec: %w", err)
	}
	h, err := tool.ShareHomes(homes)
	if errors.Is(err, fs.ErrNotExist) && c.ended() {
		return nil // a short call: the client has ended and removed the directory before this process came to it
	}
	if err != nil {
		return err
	}
	s := &server{Options: o, conn: c, homes: h.Dir, running: map[int]context.CancelFunc{}}
	s.sandbox, s.unavailable = sandbox.New(o.Config.Security.Sandbox, Place(o), Limits(o.Config))
	makeCache(cacheDir(o.Config), o.Config.Sandbox.CacheBytes)
	if err := process.Reap(); err != nil {
		return err
	}
	defer h.Remove() // the client cannot, and may have been killed
	s.work.Go(func() { tool.SweepHomes(filepath.Dir(h.Dir)) })
	return s.serve(ctx)
}

// serve answers until the client has closed its end; then everything that still runs is ended.
func (s *server) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.work.Wait()
	defer cancel()
	defer s.conn.close()
	for {
		var r Request
		files, err := s.conn.receive(&r, scriptPipes)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // the client is gone
		}
		if err == nil {
			err = s.take(ctx, r, files)
		}
		if err != nil {
			return fmt.Errorf("read what to start: %w", err)
		}
	}
}

// take begins with a request, or ends one.
func (s *server) take(ctx context.Context, r Request, files []*os.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stop, known := s.running[r.ID]
	switch {
	case r.Cancel:
		closeAll(files)
		if known { // else its reply is on the way
			stop()
		}
		return nil
	case known, len(s.running) == maxRunning:
		closeAll(files)
		return ProtocolError{fmt.Errorf("request %d while it or %d others run", r.ID, maxRunning)}
	}
	ctx, stop = context.WithCancel(ctx)
	s.running[r.ID] = stop
	s.work.Go(func() {
		reply := s.answer(ctx, r, files)
		closeAll(files)
		stop()
		s.mu.Lock()
		delete(s.running, r.ID)
		s.mu.Unlock()
		reply.ID = r.ID
		s.conn.send(reply) // if that fails, the client is gone
	})
	return nil
}

func (s *server) answer(ctx context.Context, r Request, files []*os.File) Reply {
	if r.Script {
		return s.script(ctx, r, files)
	}
	t, known := tool.Lookup(r.Tool)
	switch {
	case known && t.Needs.Runs() == card.Fetching:
		return s.fetch(ctx, r)
	case known && t.Needs.Runs() == card.Brokered:
		result := tool.Run(ctx, t, r.Args, &tool.Env{Config: s.Config, SelfEnv: s.environ(), Log: s.Log,
			Secrets:        s.Secrets,
			ConversationID: r.ConversationID})
		return Reply{Result: &result}
	}
	return Reply{Error: fmt.Sprintf("the broker does not run the tool %q", r.Tool)}
}
