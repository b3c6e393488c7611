package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/tool"
)

var (
	// ErrDied means that the server had ended before it could be asked: nothing was run.
	ErrDied = errors.New("the claw-exec broker, which starts programs, has died")
	// ErrLost means that the server was asked, and has ended without an answer.
	ErrLost = errors.New("the claw-exec broker died; the outcome of this call is unknown")
)

// replyGrace is how long a reply is awaited after a request was cancelled: more than a kill takes.
const replyGrace = 3 * time.Second

// Client asks a server. It is safe for concurrent use.
type Client struct {
	conn   *conn
	config *config.Config
	grace  time.Duration

	mu      sync.Mutex
	next    int
	waiting map[int]chan Reply
	gone    error
}

// Start starts a server, as another process of this program, and returns its client. homes is the directory in which
// the private homes of calls are.
func Start(o Options, homes string) (*Client, error) {
	ours, theirs, err := process.Socketpair()
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	defer theirs.Close()
	argv := []string{"claw-exec", ServeCommand, homes}
	if err := process.StartHelper(argv, append(o.environ(), o.Config.WorkspaceEnv()...), theirs); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	return newClient(ours, o.Config)
}

func newClient(f *os.File, cfg *config.Config) (*Client, error) {
	c, err := newConn(f)
	if err != nil {
		return nil, fmt.Errorf("connect to the broker: %w", err)
	}
	b := &Client{conn: c, config: cfg, grace: replyGrace, waiting: map[int]chan Reply{}}
	go b.read()
	return b, nil
}

// Close ends the connection, and with it the server and everything that it runs.
func (b *Client) Close() { b.conn.close() }

// Equip lets tools have run by the server what this process may not run.
func (b *Client) Equip(env *tool.Env) {
	env.HomeSeen, env.CacheSeen = homeSeen(b.config), cacheSeen(b.config)
	env.Launch, env.Away = b.launch, b.away
}

// read hands the replies out.
func (b *Client) read() {
	for {
		var r Reply
		_, err := b.conn.receive(&r, 0)
		if err == nil {
			err = b.deliver(r)
		}
		if err != nil {
			b.lose(err)
			return
		}
	}
}

func (b *Client) deliver(r Reply) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := b.waiting[r.ID]
	if ch == nil {
		return ProtocolError{fmt.Errorf("reply to request %d, which was not made", r.ID)}
	}
	ch <- r
	delete(b.waiting, r.ID)
	return nil
}

// lose says to all who wait, and who ask from now on, that the server is gone. One that sends nonsense is told so by
// the end of the connection.
func (b *Client) lose(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = ErrDied
	var nonsense ProtocolError
	if errors.As(err, &nonsense) {
		b.gone = fmt.Errorf("the claw-exec broker sent an %w", nonsense)
	}
	for _, ch := range b.waiting {
		close(ch)
	}
	b.waiting = nil
	b.Close()
}

// do asks, and waits for the reply; when ctx ends it cancels the request, and still waits a while for what became of
// it. The error is ErrDied, ErrLost, a ProtocolError or the cause of ctx.
func (b *Client) do(ctx context.Context, r Request, files ...*os.File) (Reply, error) {
	ch := make(chan Reply, 1)
	b.mu.Lock()
	if b.gone != nil {
		b.mu.Unlock()
		return Reply{}, b.gone
	}
	b.next++
	r.ID = b.next
	b.waiting[r.ID] = ch
	b.mu.Unlock()
	if err := b.conn.send(r, files...); err != nil {
		b.mu.Lock()
		delete(b.waiting, r.ID)
		b.mu.Unlock()
		return Reply{}, fmt.Errorf("ask the broker: %w", err)
	}
	select {
	case reply, ok := <-ch:
		return answered(reply, ok)
	case <-ctx.Done():
	}
	b.conn.send(Request{ID: r.ID, Cancel: true}) // if that fails, it has ended
	select {
	case reply, ok := <-ch:
		return answered(reply, ok)
	case <-time.After(b.grace):
		return Reply{}, context.Cause(ctx)
	}
}

func answered(r Reply, ok bool) (Reply, error) {
	if !ok {
		return Reply{}, ErrLost
	}
	return r, nil
}

// away has a tool run that needs what this process has given up.
func (b *Client) away(ctx context.Context, t tool.Tool, args record.Raw, env *tool.Env) tool.Result {
	r, err := b.do(ctx, Request{Tool: t.Name, Args: args, ConversationID: env.ConversationID})
	switch {
	case err != nil:
		return tool.Result{Error: fmt.Sprintf("%s: %v", t.Name, err)}
	case r.Result == nil:
		return tool.Result{Error: fmt.Sprintf("%s: %s", t.Name, r.Error)}
	}
	return *r.Result
}
