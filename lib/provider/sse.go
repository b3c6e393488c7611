package provider

import (
	"bytes"
	"io"

	"clawsh/lib/provider/dialect"
)

// events calls f with the name and the data of each server-sent event (HTML Living Standard, 9.2.6): lines end in LF,
// CRLF or CR; several data lines of an event are joined by newlines; comments and other fields are skipped, as is a
// byte order mark. Unlike there, the end of the stream ends the last event: some servers leave its empty line out. An
// event, or a line, of more than most bytes is dialect.ErrTooLarge. f must not keep what it gets. How the stream is cut
// into reads makes no difference.
func events(in io.Reader, most int, f func(event string, data []byte) error) error {
	d := eventReader{most: most, emit: f, first: true}
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if ferr := d.write(buf[:n]); ferr != nil {
			return ferr
		}
		if err == io.EOF {
			return d.end()
		}
		if err != nil {
			return err
		}
	}
}

// eventReader is what has been read of an event.
type eventReader struct {
	most       int
	emit       func(string, []byte) error
	line, data []byte
	event      string // the event's name
	has        bool   // the event has a data line, perhaps an empty one
	cr         bool   // the last line ended in CR: a LF that follows belongs to it
	first      bool   // the next line is the first
}

func (d *eventReader) write(p []byte) error {
	for len(p) > 0 {
		if d.cr && p[0] == '\n' {
			d.cr, p = false, p[1:]
			continue
		}
		d.cr = false
		i := bytes.IndexAny(p, "\r\n")
		part := p
		if i >= 0 {
			part = p[:i]
		}
		d.line = append(d.line, part...)
		if len(d.line)+len(d.data) > d.most {
			return dialect.ErrTooLarge
		}
		if i < 0 {
			return nil
		}
		d.cr, p = p[i] == '\r', p[i+1:]
		if err := d.endLine(); err != nil {
			return err
		}
	}
	return nil
}

func (d *eventReader) endLine() error {
	line := d.line
	d.line = d.line[:0]
	if d.first {
		line, d.first = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), false
	}
	if len(line) == 0 {
		return d.dispatch()
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) == "event" {
		d.event = string(bytes.TrimPrefix(value, []byte(" ")))
	}
	if string(name) != "data" {
		return nil
	}
	if d.has {
		d.data = append(d.data, '\n')
	}
	d.has, d.data = true, append(d.data, bytes.TrimPrefix(value, []byte(" "))...)
	return nil
}

func (d *eventReader) dispatch() error {
	event := d.event
	d.event = ""
	if !d.has {
		return nil
	}
	data := d.data
	d.data, d.has = d.data[:0], false
	return d.emit(event, data)
}

func (d *eventReader) end() error {
	if len(d.line) > 0 {
		if err := d.endLine(); err != nil {
			return err
		}
	}
	return d.dispatch()
}
