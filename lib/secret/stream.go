package secret

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"unicode/utf8"
)

const (
	// lookBack is how much of what was passed on is kept: the boundary before a secret is looked for there.
	lookBack = 24
	noteHead = "[withheld: "
	noteTail = "]"
)

// Stream replaces secrets in a text that comes in pieces, wherever it is cut. It holds back what may be the beginning
// of a secret: usually three bytes, at most a few thousand. It does not split characters.
type Stream struct {
	r      *Redactor
	buf    []byte // what may follow, behind the context that was passed on already
	next   int    // where in buf the undecided begins
	low    int    // what stands before it in buf does not count as context: it was withheld
	eating bool   // in the middle of a secret
	must   int    // so many bytes more belong to it
	class  *class // and then all that follow of this class
	most   int    // at most so many; 0 means any number
	ends   bool   // it is a key block: it goes on up to its end line
	due    match  // a secret that begins later in buf, if due.kind is set
	counts Counts
	begun  []byte // the beginning of a character that can be passed on once it is whole
	lines  bool   // the newlines of a secret are passed on
}

// NewStream returns a Stream that withholds what r withholds.
func (r *Redactor) NewStream() *Stream { return &Stream{r: r} }

// NewLineStream is like NewStream but keeps the number of lines: the newlines within a secret follow its note.
func (r *Redactor) NewLineStream() *Stream { return &Stream{r: r, lines: true} }

// Next takes a piece of the text and returns what can be passed on.
func (s *Stream) Next(text string) string {
	if s.r.Empty() && len(s.buf) == s.next && s.begun == nil {
		return text
	}
	s.buf = append(s.buf, text...)
	return s.pass(false)
}

// Rest ends the text and returns what was held back.
func (s *Stream) Rest() string {
	if s.r == nil {
		return ""
	}
	out := s.pass(true)
	*s = Stream{r: s.r, counts: s.counts, lines: s.lines}
	return out
}

// Counts says what was withheld so far.
func (s *Stream) Counts() Counts { return s.counts }

func (s *Stream) pass(final bool) string {
	out := s.advance(s.begun, final)
	s.begun = nil
	if cut := len(out) - partialEnd(out); !final && cut < len(out) {
		out, s.begun = out[:cut], slices.Clone(out[cut:])
	}
	if drop := max(s.next-lookBack, 0); drop > 0 {
		s.buf = append(s.buf[:0], s.buf[drop:]...)
		s.next, s.low = s.next-drop, max(s.low-drop, 0)
		s.due.at, s.due.to = s.due.at-drop, s.due.to-drop
	}
	return string(out)
}

// advance decides about as much of buf as it can and appends to out what can be passed on.
func (s *Stream) advance(out []byte, final bool) []byte {
	known := s.r.known.Load()
	var index *shapeIndex
	if s.r.shapes && s.next < len(s.buf) {
		index = shapesIndexed()
	}
	for s.next < len(s.buf) {
		from := s.next
		if s.eating {
			done := s.eat(known, final)
			if s.lines {
				out = append(out, bytes.Repeat([]byte("\n"),
					bytes.Count(s.buf[from:min(s.next, len(s.buf))], []byte("\n")))...)
			}
			if !done {
				return out
			}
			continue
		}
		m, more := s.find(known, index, final)
		out = append(out, s.buf[from:s.next]...)
		if m.kind != "" {
			out = append(append(append(out, noteHead...), m.kind...), noteTail...)
			if s.counts == nil {
				s.counts = Counts{}
			}
			s.counts[m.kind]++
			s.begin(m)
		} else if more {
			return out
		}
	}
	return out
}

func (s *Stream) begin(m match) {
	s.eating, s.must, s.class, s.most, s.ends = true, m.to-m.at, m.class, m.most, m.block
}

// find moves next to the next secret, or as far as can be decided.
func (s *Stream) find(known *table, index *shapeIndex, final bool) (m match, more bool) {
	text := s.buf
	for ; s.next+windowBytes <= len(text); s.next++ {
		if s.due.kind != "" && s.due.at <= s.next {
			m, s.due = s.due, match{}
			m.at = s.next
			return m, false
		}
		window := binary.LittleEndian.Uint32(text[s.next:])
		var e *entry
		if h := known.hash(window); known.bits[h>>6]&(1<<(h&63)) != 0 {
			if e, more = known.at(text[s.next:], window, final); more {
				return match{}, true
			}
		}
		if index != nil && index.pairs[uint16(window)>>6]&(1<<(window&63)) != 0 {
			if m, more = index.match(text, s.low, s.next, final); more {
				return match{}, true
			}
		}
		if m.kind != "" && m.at > s.next {
			if s.due.kind == "" {
				s.due = m
			}
			m = match{}
		}
		if e != nil {
			return m.and(s.next, e), false
		}
		if m.kind != "" {
			return m, false
		}
	}
	if !final {
		return match{}, true
	}
	if s.due.kind != "" {
		s.next, m, s.due = s.due.at, s.due, match{}
		return m, false
	}
	s.next = len(text)
	return match{}, false
}

// and joins a shape's match with a known value at the same place: the value gives the name, the longer of both the end.
func (m match) and(at int, e *entry) match {
	known := match{kind: e.kind, at: at, to: at + e.size}
	switch {
	case m.kind != "":
		known.class, known.most, known.block, known.to = m.class, m.most, m.block, max(m.to, known.to)
	case e.base64:
		known.class, known.most = &base64Class, 3
	}
	return known
}

// eat skips the rest of a secret. It returns false if more text is needed.
func (s *Stream) eat(known *table, final bool) bool {
	for ; s.next < len(s.buf); s.next++ {
		rest := s.buf[s.next:]
		if len(rest) >= windowBytes {
			e, more := known.at(rest, binary.LittleEndian.Uint32(rest), final)
			if more {
				return false
			}
			if e != nil {
				s.must = max(s.must, e.size)
			}
		} else if !final && len(known.entries) > 0 {
			return false
		}
		if s.due.kind != "" && s.due.at == s.next {
			s.must = max(s.must, s.due.to-s.due.at)
			if s.class == nil || s.most > 0 {
				s.class, s.most, s.ends = s.due.class, s.due.most, s.due.block
			}
			s.due = match{}
		}
		if s.must > 0 {
			s.must--
			continue
		}
		n, more := s.follows(rest, final)
		if more {
			return false
		}
		if n == 0 {
			s.eating, s.low = false, s.next
			return true
		}
		s.next += n - 1
	}
	return true
}

// follows tells how many of the bytes that come now still belong to the secret.
func (s *Stream) follows(rest []byte, final bool) (n int, more bool) {
	switch {
	case s.ends:
		return s.blockFollows(rest, final)
	case s.class == nil || !s.class.has(rest[0]):
		return 0, false
	case s.most == 0:
		return 1, false
	}
	if s.most--; s.most == 0 {
		s.class = nil
	}
	return 1, false
}

// partialEnd counts the bytes of a character that b ends in the middle of.
func partialEnd(b []byte) int {
	for n := 1; n <= min(3, len(b)); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}

// Writer passes on what is written to it, without secrets. Close writes what is held back; it does not close the
// underlying writer.
type Writer struct {
	w      io.Writer
	stream *Stream
	lines  bool
}

// NewWriter returns a Writer to w.
func (r *Redactor) NewWriter(w io.Writer) *Writer { return &Writer{w: w, stream: r.NewStream()} }

// NewLineWriter is like NewWriter, for text in which no secret crosses the end of a line, such as JSON lines: nothing
// is held back after a newline.
func (r *Redactor) NewLineWriter(w io.Writer) *Writer {
	return &Writer{w: w, stream: r.NewStream(), lines: true}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	head := 0
	if w.lines {
		for i := len(p) - 1; i >= 0 && head == 0; i-- {
			if p[i] == '\n' {
				head = i + 1
			}
		}
	}
	out := ""
	if head > 0 {
		out = w.stream.Next(string(p[:head])) + w.stream.Rest()
	}
	out += w.stream.Next(string(p[head:]))
	if out != "" {
		if _, err := io.WriteString(w.w, out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close writes what is held back.
func (w *Writer) Close() error {
	if out := w.stream.Rest(); out != "" {
		_, err := io.WriteString(w.w, out)
		return err
	}
	return nil
}

// Counts says what was withheld so far.
func (w *Writer) Counts() Counts { return w.stream.Counts() }
