package spelling

import "testing"

func TestCount(t *testing.T) {
	for word, many := range map[string]string{"round": "rounds", "entry": "entries", "try": "tries", "key": "keys",
		"match": "matches", "process": "processes",
		"byte": "bytes", "box": "boxes"} {
		for n, want := range map[int]string{0: "0 " + many, 1: "1 " + word, 2: "2 " + many, 11: "11 " + many,
			21: "21 " + many, -1: "-1 " + many} {
			if got := Count(n, word); got != want {
				t.Errorf("%d %s: %q", n, word, got)
			}
		}
	}
	if got := Count(uint64(1<<63), "receipt"); got != "9223372036854775808 receipts" {
		t.Error(got)
	}
}
