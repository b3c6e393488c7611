package main

import (
	"encoding/binary"
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

// ask is what the filter asks the broker for: that a script is interpreted in the sandbox, that a tool is run that needs what
// the filter may not do itself, or that what was asked before is given up. With a script come the interpreter's standard files:
// what it is told, the output of all that it runs, and what it says.
type ask struct {
	ID             int           `json:"id"`
	Cancel         bool          `json:"cancel,omitzero"`
	Script         bool          `json:"script,omitzero"`
	Adapt          sandbox.Adapt `json:"adapt,omitzero"`
	Tool           string        `json:"tool,omitzero"`
	Args           record.Raw    `json:"args,omitzero"`
	ConversationID string        `json:"conversation_id,omitzero"`
}

// answer is what became of it.
type answer struct {
	ID      int             `json:"id"`
	Exit    sandbox.Exit    `json:"exit,omitzero"`
	Report  *sandbox.Report `json:"report,omitzero"`
	Result  *tool.Result    `json:"result,omitzero"`
	Error   string          `json:"error,omitzero"`
	Errno   int             `json:"errno,omitzero"`   // the error is this one
	Refused bool            `json:"refused,omitzero"` // there is no sandbox
}

// maxMessage bounds a message: a command line of 2 MiB, in JSON.
const maxMessage = 16 << 20

// line is one end of the connection between filter and broker: messages with their length before them, and open files.
type line struct {
	conn *net.UnixConn
	mu   sync.Mutex // for writing
}

func newLine(f *os.File) (*line, error) {
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
	return &line{conn: u}, nil
}

func (l *line) send(v any, files ...*os.File) error {
	b, err := record.Encode(v)
	if err != nil {
		return err
	}
	if len(b) > maxMessage {
		return fmt.Errorf("%d bytes are too many for one message", len(b))
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A message without files is one write, too: the other side reads the head alone, with what comes with it.
	if _, _, err := l.conn.WriteMsgUnix(binary.BigEndian.AppendUint32(nil, uint32(len(b))), rights, nil); err != nil {
		return err
	}
	_, err = l.conn.Write(b)
	return err
}

// receive reads a message into v and returns the files that came with it.
func (l *line) receive(v any) ([]*os.File, error) {
	head, rights := make([]byte, 4), make([]byte, syscall.CmsgSpace(4*8))
	n, got, _, _, err := l.conn.ReadMsgUnix(head, rights)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	files, err := openFiles(rights[:got])
	if err != nil {
		return nil, err
	}
	if err := l.body(head, n, v); err != nil {
		closeAll(files)
		return nil, err
	}
	return files, nil
}

// ended waits until the other side says something, or has closed its end, and tells whether it has closed it.
func (l *line) ended() bool {
	var a ask
	files, err := l.receive(&a)
	closeAll(files)
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

func (l *line) body(head []byte, n int, v any) error {
	if _, err := io.ReadFull(l.conn, head[n:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(l.conn, b); err != nil {
		return err
	}
	return record.Decode(b, v)
}

func openFiles(rights []byte) ([]*os.File, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
