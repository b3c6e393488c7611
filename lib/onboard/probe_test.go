package onboard

import (
	"testing"

	"clawsh/lib/envelope"
)

func TestWhy(t *testing.T) {
	for message, want := range map[string]string{
		`openai_compatible: Get "http://h:1/v1/models": dial tcp 10.0.0.1:1: connect: connection refused`: "h:1: connect: connection refused",
		`openai_compatible: Get "http://h:1/v1/models": dial tcp: lookup h: no such host`:                 "h:1: lookup h: no such host",
		`openai_compatible: Get "http://h:1/v1/models": EOF`:                                              "h:1: EOF",

		`openai_compatible: HTTP 404 Not Found: "x": y`: `HTTP 404 Not Found: "x": y`,
		`the program could not be started`:              `the program could not be started`,
	} {
		r := probe{err: &envelope.Error{Message: message}}
		if got := r.why("http://h:1/v1"); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}
