package record

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

type framed struct {
	N    int    `json:"n,omitzero"`
	Text string `json:"text,omitzero"`
}

func TestFrame(t *testing.T) {
	var sent []byte
	for _, v := range []framed{{}, {N: 1}, {Text: strings.Repeat("é", 100_000)}} {
		b, err := Frame(v, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, b...)
	}
	for _, r := range []io.Reader{bytes.NewReader(sent), iotest.OneByteReader(bytes.NewReader(sent)),
		iotest.DataErrReader(bytes.NewReader(sent))} {
		for _, want := range []framed{{}, {N: 1}, {Text: strings.Repeat("é", 100_000)}} {
			var got framed
			if err := ReadFrame(r, 1<<20, &got); err != nil || got != want {
				t.Fatalf("%v, %.40v instead of %.40v", err, got, want)
			}
		}
		if err := ReadFrame(r, 1<<20, &framed{}); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
	var long TooLongError
	if _, err := Frame(framed{Text: "12345"}, 10); !errors.As(err, &long) || long.Most != 10 {
		t.Errorf("a frame of more than it may have: %v", err)
	}
}

func TestFrameRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"a cut length": "\x00\x00", "a length alone": "\x00\x00\x00\x02", "a cut value": "\x00\x00\x00\x02{",
		"nothing": "\x00\x00\x00\x00", "blanks": "\x00\x00\x00\x01 ",
		"no JSON": "\x00\x00\x00\x04nope", "a list": "\x00\x00\x00\x02[]",
		"an unknown field": "\x00\x00\x00\x07{\"x\":1}", "another letter case": "\x00\x00\x00\x07{\"N\":1}",
		"a doubled field": "\x00\x00\x00\x0d{\"n\":1,\"n\":2}", "two values": "\x00\x00\x00\x04{}{}",
		"too many": "\x00\x10\x00\x01{}", "as many as can be": "\xff\xff\xff\xff{}",
		"text": "GET / HTTP/1.1\r\n\r\n",
	} {
		err := ReadFrame(strings.NewReader(text), 1<<20, &framed{})
		var long TooLongError
		switch {
		case err == nil || err == io.EOF:
			t.Errorf("%s: %v", name, err)
		case strings.Contains(name, "cut") || strings.Contains(name, "alone"):
			if err != io.ErrUnexpectedEOF {
				t.Errorf("%s: %v", name, err)
			}
		case strings.Contains(name, "many") || name == "text":
			if !errors.As(err, &long) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A length is only a claim: who sends one and nothing else, costs nothing.
func TestFrameTakesMemoryAsBytesCome(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		ReadFrame(strings.NewReader("\x01\x00\x00\x00{"), 16<<20, &framed{})
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100<<20/4 {
		t.Errorf("%d bytes for 100 lengths of 16 MiB", got)
	}
}

// FuzzReadFrame: whatever comes, a frame is read as what was meant or not at all.
func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{"", "\x00", "\x00\x00\x00\x07{\"n\":1}",
		"\x00\x00\x00\x07{\"n\":1}\x00\x00\x00\x02{}", "\xff\xff\xff\xff", "\x00\x00\x00\x0c{\"text\":\"\\u"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		for {
			start := len(data) - in.Len()
			var v framed
			err := ReadFrame(in, 1<<16, &v)
			if err != nil {
				if err == io.EOF && start != len(data) {
					t.Fatalf("the end at %d of %d bytes", start, len(data))
				}
				return
			}
			again, err := Frame(v, 1<<17)
			if err != nil {
				t.Fatal(err)
			}
			var same framed
			if err := ReadFrame(bytes.NewReader(again), 1<<17, &same); err != nil || same != v {
				t.Fatalf("%+v comes back as %+v: %v", v, same, err)
			}
		}
	})
}
