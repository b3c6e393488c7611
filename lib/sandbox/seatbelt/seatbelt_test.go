package seatbelt

import (
	"strings"
	"testing"
)

func TestProfile(t *testing.T) {
	p, err := Profile([]Rule{{Access: Read, Path: "/opt/x"}, {Access: Write, Path: "/Users/u/w"},
		{Access: Read, Path: "/Users/u/w/.git"}, {Path: "/Users/u/w/.netrc", IsFile: true}})
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"(version 1)\n(deny default)", "(deny network*)", `(allow file-read* (subpath "/opt/x"))`,
		`(deny file-write* (subpath "/opt/x"))`,
		`(allow file-read* file-write* (subpath "/Users/u/w"))`, `(deny file-write* (subpath "/Users/u/w/.git"))`,
		`(deny file-read* file-write* (literal "/Users/u/w/.netrc"))`, "(deny file-write-setugid)"}
	at := 0
	for _, want := range order {
		i := strings.Index(p[at:], want)
		if i < 0 {
			t.Fatalf("%s is not there, or not behind the others:\n%s", want, p)
		}
		at += i
	}
	if strings.Contains(p, "(allow network") || strings.Contains(p, `(subpath "/")`) ||
		strings.Count(p, "(") != strings.Count(p, ")") {
		t.Error(p)
	}
	for _, bad := range []string{`/a")(allow default)("`, "/a\nb", `/a\`, "/a\x7f"} {
		if p, err := Profile([]Rule{{Access: Write, Path: bad}}); err == nil {
			t.Errorf("%q got into a profile: %s", bad, p)
		}
	}
}
