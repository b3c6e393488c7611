package card

import (
	"testing"

	"clawsh/lib/record"
)

// TestOnlyWhatIsWanted: an executor gets no value that a tag does not name, whether words or numbers.
func TestOnlyWhatIsWanted(t *testing.T) {
	type args struct {
		Word   string  `json:"word" want:"up|down"`
		Maybe  *string `json:"maybe" want:"up|down|left"`
		Number int     `json:"number" want:"0..9"`
	}
	for raw, want := range map[string]string{
		`{}`:                             "",
		`{"word":"","maybe":null}`:       "",
		`{"word":"down","maybe":"left"}`: "",
		`{"word":"left"}`:                "want word up or down",
		`{"word":"Up"}`:                  "want word up or down",
		`{"word":"up|down"}`:             "want word up or down",
		`{"word":"|"}`:                   "want word up or down",
		`{"maybe":"right"}`:              "want maybe up, down or left",
		`{"number":10}`:                  "want number from 0 to 9",
	} {
		got := ""
		if _, err := Decode[args](record.Raw(raw)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
