package terminal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// History gives the lines that were typed before, and takes new ones.
type History interface {
	Add(line string)
	Len() int
	At(i int) string // 0 is the newest
}

// Editor reads lines from a terminal with editing and history. It moves and erases by visible characters, of whatever
// width: an emoji of several code points is one, and so is a letter with its marks. The terminal is in raw mode only
// while a line is read.
type Editor struct {
	In      *os.File
	Out     io.Writer
	Size    func() (columns int)
	History History

	keys   *bufio.Reader
	prompt string
	line   []string // the characters
	at     int      // the cursor is before this one
	row    int      // of the screen, counted from the prompt's, in which the cursor is
	recall int      // which line of the history is shown; -1 for none
	typed  []string // what was typed before the history was looked at
	pasted bool     // between the marks of a paste
	width  int      // of the screen when the line was drawn last
	before int      // columns before the cursor then

	mu    sync.Mutex
	state *term.State // of the terminal before the line, nil between lines; guarded by mu
	left  bool        // nothing is read any more; guarded by mu
}

// ErrPasted is returned with a line that was pasted and is followed by more of the same paste.
var ErrPasted = errors.New("there is more pasted text")

// ReadLine reads one line. io.EOF is Ctrl-D on an empty line, or the end of input. Ctrl-C throws the line away.
func (e *Editor) ReadLine(prompt string) (string, error) {
	if e.keys == nil {
		e.keys = bufio.NewReader(e.In)
	}
	if err := e.enterRaw(); err != nil {
		return "", err
	}
	defer e.restore()
	e.prompt, e.line, e.at, e.row, e.recall = prompt, nil, 0, 0, -1
	e.draw()
	for {
		r, err := e.key()
		if err != nil {
			return "", err
		}
		switch {
		case r == '\r' || r == '\n':
			return e.enter()
		case r == ctrl('D') && len(e.line) == 0:
			io.WriteString(e.Out, "\r\n")
			return "", io.EOF
		}
		e.press(r)
		if e.keys.Buffered() == 0 || !e.pasted {
			e.draw()
		}
	}
}

// enterRaw takes the terminal for a line, unless somebody has left.
func (e *Editor) enterRaw() (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left {
		return io.EOF
	}
	if e.state, err = term.MakeRaw(int(e.In.Fd())); err != nil {
		e.state = nil
		return err
	}
	io.WriteString(e.Out, "\x1b[?2004h") // pastes are marked
	return nil
}

// restore gives the terminal back as it was before the line.
func (e *Editor) restore() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == nil {
		return
	}
	io.WriteString(e.Out, "\x1b[?2004l")
	term.Restore(int(e.In.Fd()), e.state)
	e.state = nil
}

// Leave restores the terminal when no more is to be read: during, before or after a line. No line is begun
// afterwards.
func (e *Editor) Leave() {
	e.mu.Lock()
	e.left = true
	e.mu.Unlock()
	e.restore()
}

// enter ends the line. Of a paste, the rest is read as lines of their own.
func (e *Editor) enter() (string, error) {
	e.at = len(e.line)
	e.draw()
	io.WriteString(e.Out, "\r\n")
	line := strings.Join(e.line, "")
	if e.History != nil && strings.TrimSpace(line) != "" {
		e.History.Add(line)
	}
	if e.pasted {
		return line, ErrPasted
	}
	return line, nil
}

// Keys that are not characters, beyond Unicode.
const (
	keyUp rune = utf8.MaxRune + 1 + iota
	keyDown
	keyLeft
	keyRight
	keyHome
	keyEnd
	keyDelete
	keyWordLeft
	keyWordRight
	keyNone
)

func ctrl(letter rune) rune { return letter & 0x1f }

var sequences = map[string]rune{"[A": keyUp, "[B": keyDown, "[C": keyRight, "[D": keyLeft, "OA": keyUp, "OB": keyDown,
	"OC": keyRight, "OD": keyLeft,
	"[H": keyHome, "[F": keyEnd, "OH": keyHome, "OF": keyEnd, "[1~": keyHome, "[4~": keyEnd, "[7~": keyHome,
	"[8~": keyEnd, "[3~": keyDelete,
	"[1;5D": keyWordLeft, "[1;5C": keyWordRight, "[1;3D": keyWordLeft, "[1;3C": keyWordRight, "b": keyWordLeft,
	"f": keyWordRight}

// key reads one key.
func (e *Editor) key() (rune, error) {
	r, _, err := e.keys.ReadRune()
	if err != nil || r != 0x1b {
		return r, err
	}
	var seq strings.Builder
	for seq.Len() < 16 {
		b, err := e.keys.ReadByte()
		if err != nil {
			return keyNone, err
		}
		seq.WriteByte(b)
		first := seq.String()[0]
		if seq.Len() == 1 && (first == '[' || first == 'O') {
			continue
		}
		if first != '[' || b >= 0x40 && b <= 0x7e {
			break
		}
	}
	switch s := seq.String(); s {
	case "[200~":
		e.pasted = true
	case "[201~":
		e.pasted = false
	default:
		if key, ok := sequences[s]; ok {
			return key, nil
		}
	}
	return keyNone, nil
}

// press does what a key says.
func (e *Editor) press(r rune) {
	switch r {
	case keyNone:
	case keyLeft, ctrl('B'):
		e.at = max(0, e.at-1)
	case keyRight, ctrl('F'):
		e.at = min(len(e.line), e.at+1)
	case keyHome, ctrl('A'):
		e.at = 0
	case keyEnd, ctrl('E'):
		e.at = len(e.line)
	case keyWordLeft:
		e.at = e.word()
	case keyWordRight:
		for e.at < len(e.line) && e.line[e.at] == " " {
			e.at++
		}
		for e.at < len(e.line) && e.line[e.at] != " " {
			e.at++
		}
	case keyUp, ctrl('P'):
		e.remember(e.recall + 1)
	case keyDown, ctrl('N'):
		e.remember(e.recall - 1)
	case 0x7f, ctrl('H'):
		e.erase(e.at-1, e.at)
	case keyDelete, ctrl('D'):
		e.erase(e.at, e.at+1)
	case ctrl('K'):
		e.erase(e.at, len(e.line))
	case ctrl('U'):
		e.erase(0, e.at)
	case ctrl('W'):
		e.erase(e.word(), e.at)
	case ctrl('C'):
		e.erase(0, len(e.line))
	case ctrl('L'):
		io.WriteString(e.Out, "\x1b[2J\x1b[H")
		e.row = 0
	case '\t':
		e.insert(' ')
	default:
		if r >= ' ' && r <= utf8.MaxRune {
			e.insert(r)
		}
	}
}

// word is where the word before the cursor begins.
func (e *Editor) word() int {
	i := e.at
	for i > 0 && e.line[i-1] == " " {
		i--
	}
	for i > 0 && e.line[i-1] != " " {
		i--
	}
	return i
}

func (e *Editor) erase(from, to int) {
	from, to = max(0, from), min(len(e.line), to)
	if from >= to {
		return
	}
	e.line = slices.Delete(e.line, from, to)
	e.at = from
}

// insert puts a code point before the cursor: it may become a part of the character that is there.
func (e *Editor) insert(r rune) {
	before := strings.Join(e.line[:e.at], "") + string(r)
	after := e.line[e.at:]
	left := characters(before)
	e.line = append(left, after...)
	e.at = len(left)
}

func characters(s string) (list []string) {
	for g := uniseg.NewGraphemes(s); g.Next(); {
		list = append(list, g.Str())
	}
	return list
}

// remember shows a line of the history, or at -1 what was typed before it was looked at.
func (e *Editor) remember(i int) {
	if e.History == nil || i < -1 || i >= e.History.Len() {
		return
	}
	if e.recall == -1 {
		e.typed = e.line
	}
	e.recall = i
	if e.line = e.typed; i >= 0 {
		e.line = characters(e.History.At(i))
	}
	e.line = slices.Clone(e.line)
	e.at = len(e.line)
}

// draw draws prompt and line anew, over as many rows as they take, and puts the cursor into its place.
func (e *Editor) draw() {
	columns := max(2, e.Size())
	if e.width > 0 && columns != e.width {
		e.row = e.before / columns // the terminal has wrapped it anew
	}
	var b strings.Builder
	b.WriteString("\r")
	if e.row > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(e.row) + "A")
	}
	b.WriteString("\x1b[J")
	row, column, cursorRow, cursorColumn := 0, 0, 0, 0
	for i, c := range append(characters(e.prompt), append(slices.Clone(e.line), "")...) {
		if i == len(characters(e.prompt))+e.at {
			cursorRow, cursorColumn = row, column
		}
		if c == "" {
			break
		}
		shown := c
		if uniseg.StringWidth(c) == 0 || Sanitize(c) != c && !strings.ContainsRune(c, 0x200d) &&
			!strings.ContainsRune(c, 0xfe0f) {
			shown = Escape(c)
		}
		width := Columns(shown)
		if column+width > columns {
			b.WriteString("\r\n")
			row, column = row+1, 0
		}
		b.WriteString(shown)
		column += width
		if column >= columns {
			b.WriteString("\r\n")
			row, column = row+1, 0
		}
	}
	if up := row - cursorRow; up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	b.WriteString("\r")
	if cursorColumn > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(cursorColumn) + "C")
	}
	e.row, e.width, e.before = cursorRow, columns, cursorRow*columns+cursorColumn
	io.WriteString(e.Out, b.String())
}
