package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
	"clawsh/lib/terminal"
)

// TestTell: what can be mended is mended only if somebody says so, and counts as wrong until it is.
func TestTell(t *testing.T) {
	says := func(yes bool, err error) func(context.Context, string) (bool, error) {
		return func(context.Context, string) (bool, error) { return yes, err }
	}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		o            Options
		mend         error
		called, fine bool
	}{
		"told to":      {Options{Yes: true}, nil, true, true},
		"a yes":        {Options{Ask: says(true, nil)}, nil, true, true},
		"a no":         {Options{Ask: says(false, nil)}, nil, false, false},
		"no answer":    {Options{Ask: says(true, broken)}, nil, false, false},
		"nobody there": {Options{Ask: says(true, terminal.ErrNoTerminal)}, nil, false, false},
		"not asked":    {Options{}, nil, false, false},
		"it fails":     {Options{Yes: true}, broken, true, false},
	} {
		d, called := &examination{Options: c.o}, false
		fine := d.tell(context.Background(),
			Finding{Check: "x", State: wrong, Mend: "m",
				mend: func(context.Context) error { called = true; return c.mend }})
		if called != c.called || fine != c.fine || d.found[0].Mended != c.fine {
			t.Errorf("%s: mended %t, fine %t: %+v", name, called, fine, d.found)
		}
		if failed := strings.Contains(d.found[0].Hint, "the repair failed: broken"); failed != (c.mend != nil) {
			t.Errorf("%s: %+v", name, d.found)
		}
	}
	asked := 0
	d := &examination{Options: Options{Ask: func(context.Context, string) (bool, error) {
		asked++
		return false,
			terminal.ErrNoTerminal
	}}}
	for range 3 {
		d.tell(context.Background(), Finding{State: wrong, mend: func(context.Context) error { return nil }})
	}
	if asked != 1 {
		t.Errorf("nobody was asked %d times", asked)
	}
}

// TestExamine: a home that is missing is set up if that is wanted, and without one nothing else is looked at.
func TestExamine(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	o := Options{Paths: func() (config.Paths, error) {
		return config.Paths{Home: home, File: home + "/config.toml"},
			nil
	}}
	r := Examine(context.Background(), o)
	if len(r.Findings) != 1 || r.Wrong != 1 || r.Mended != 0 || envelope.From(r.Failure()).Code != "doctor.found" {
		t.Errorf("%+v", r)
	}
	o.Yes, o.SetUp = true, func(context.Context) error { return errors.New("no room") }
	if r := Examine(context.Background(), o); r.Wrong != 1 || !strings.Contains(r.Findings[0].Hint, "no room") {
		t.Errorf("%+v", r)
	}
	o.Paths = func() (config.Paths, error) { return config.Paths{}, errors.New("where?") }
	if r := Examine(context.Background(), o); len(r.Findings) != 1 || r.Findings[0].Message != "where?" {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	r = Report{Findings: []Finding{{Check: "a", State: sound, Message: "\x1b[2J", Hint: "unseen"},
		{Check: "b", State: wrong, Message: "m", Mend: "do", Mended: true},
		{Check: "c", State: noted, Message: "n", Hint: "look"}}}
	if err := r.WriteText(&text); err != nil ||
		text.String() != "a  ok      \\x1b[2J\nb  mended  m\nc  note    n\n           → look\n" || r.Failure() != nil {
		t.Errorf("%q, %v", text.String(), err)
	}
}

func TestTimeFinding(t *testing.T) {
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	now := at("2026-11-22T10:00:00Z")
	for _, c := range []struct {
		now, newest time.Time
		state       string
	}{{now, time.Time{}, sound}, {now, now, sound}, {now, at("2026-11-22T10:00:30Z"), sound},
		{now, at("2026-11-22T10:02:00Z"), wrong},
		{at("1970-01-01T00:00:00Z"), time.Time{}, wrong}, {at("2120-01-01T00:00:00Z"), time.Time{}, wrong}} {
		if f := timeFinding(c.now, c.newest); f.State != c.state || (f.State == wrong) != (f.Hint != "") {
			t.Errorf("%s, newest %s: %+v", c.now, c.newest, f)
		}
	}
}

func TestIdentical(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large := strings.Repeat("x", 1<<16)
	a := write("a", large+"1")
	for text, want := range map[string]bool{large + "1": true, large + "2": false, large: false, large + "12": false,
		"": false} {
		if same, err := identical(a, write("b", text)); same != want || err != nil {
			t.Errorf("%d bytes: %t, %v", len(text), same, err)
		}
	}
	if same, err := identical(a, a); !same || err != nil {
		t.Errorf("itself: %t, %v", same, err)
	}
	if same, err := identical(a, filepath.Join(dir, "none")); same || err == nil {
		t.Errorf("none: %t, %v", same, err)
	}
	if f := diskFinding(filepath.Join(dir, "none")); f.State != wrong {
		t.Errorf("%+v", f)
	}
	if f := diskFinding(dir); f.State != sound && !strings.Contains(f.Message, "MB left") {
		t.Errorf("%+v", f)
	}
}
