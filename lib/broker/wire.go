package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"clawsh/lib/record"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// Request is what a client asks for: that a script is interpreted in the sandbox, that a tool is run that needs what
// the client has given up, or that what was asked before is cancelled. With a script come the interpreter's standard
// files, three pipes: what it is told, the output of all that it runs, and what it says.
type Request struct {
	ID             int           `json:"id"`
	Cancel         bool          `json:"cancel,omitzero"`
	Script         bool          `json:"script,omitzero"`
	Adapt          sandbox.Adapt `json:"adapt,omitzero"`
	Tool           string        `json:"tool,omitzero"`
	Args           record.Raw    `json:"args,omitzero"`
	ConversationID string        `json:"conversation_id,omitzero"`
}

// Reply is what became of the request with its ID.
type Reply struct {
	ID      int             `json:"id"`
	Exit    sandbox.Exit    `json:"exit,omitzero"`
	Report  *sandbox.Report `json:"report,omitzero"`
	Result  *tool.Result    `json:"result,omitzero"`
	Error   string          `json:"error,omitzero"`
	Refused bool            `json:"refused,omitzero"` // there is no sandbox
}

// Bounds of what one message may be.
const (
	maxMessage  = 16 << 20 // a command line of 2 MiB, in JSON
	scriptPipes = 3
)

// ProtocolError means that the other side sent what no broker and no client sends. Nothing more is read from it.
type ProtocolError struct{ Err error }

// Error implements error.
func (e ProtocolError) Error() string { return "unknown message: " + e.Err.Error() }

// Unwrap returns the cause.
func (e ProtocolError) Unwrap() error { return e.Err }

// conn is one end of the connection between client and server: frames of JSON, and open files that come with them.
type conn struct {
	socket  *net.UnixConn
	sending sync.Mutex
}

// newConn takes f over.
func newConn(f *os.File) (*conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("it is not a local socket")
	}
	return &conn{socket: u}, nil
}

func (c *conn) close() { c.socket.Close() }

func (c *conn) send(v any, files ...*os.File) error {
	frame, err := record.Frame(v, maxMessage)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	n, _, err := c.socket.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) { // there was not room for all of it
		_, err = c.socket.Write(frame[n:])
	}
	return err
}

// receive reads a message into v, and returns the files that came with it, at most so many. The error is io.EOF if
// the other side has closed its end, io.ErrUnexpectedEOF if it did in the middle of a message, else a ProtocolError
// or one of the socket.
func (c *conn) receive(v any, most int) ([]*os.File, error) {
	head, rights := make([]byte, 4), make([]byte, syscall.CmsgSpace(4*most))
	n, got, flags, _, err := c.socket.ReadMsgUnix(head, rights)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || err == nil && n == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	files, err := openFiles(rights[:got])
	if err == nil && (len(files) > most || flags&syscall.MSG_CTRUNC != 0) {
		err = ProtocolError{fmt.Errorf("it comes with more than %d open files", most)}
	}
	if err == nil {
		err = readFrame(io.MultiReader(bytes.NewReader(head[:n]), c.socket), v)
	}
	if err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

// readFrame reads one message, without its files.
func readFrame(r io.Reader, v any) error {
	err := record.ReadFrame(r, maxMessage, v)
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return io.ErrUnexpectedEOF
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return err
	}
	return ProtocolError{err}
}

// ended waits until the other side says something, or has closed its end, and tells whether it has closed it.
func (c *conn) ended() bool {
	var r Request
	files, err := c.receive(&r, scriptPipes)
	closeAll(files)
	return errors.Is(err, io.EOF)
}

// openFiles are the files of a message; on an error those up to it.
func openFiles(rights []byte) (files []*os.File, err error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	for _, m := range messages {
		fds, bad := syscall.ParseUnixRights(&m)
		if bad != nil {
			return files, ProtocolError{bad}
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	if err != nil {
		err = ProtocolError{err}
	}
	return files, err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
