package need

import (
	"os"
	"strconv"
)

// SoakVariable is the environment variable that asks for all rounds of the tests that vary moments, sizes or shapes,
// and for as many times as many as it says: make soak sets it to 1, make soak SOAK=5 to 5.
const SoakVariable = "CLAWSH_SOAK"

// Soak tells whether all rounds are asked for.
func Soak() bool { return os.Getenv(SoakVariable) != "" }

// OneIn tells whether a test takes the i-th of its cases: each in a soak, one in n in every run.
func OneIn(n, i int) bool { return Soak() || i%n == 0 }

// Rounds is how many rounds a test runs: few in every run, all of them, or some times as many, in a soak.
func Rounds(few, all int) int {
	if !Soak() {
		return few
	}
	times, _ := strconv.Atoi(os.Getenv(SoakVariable)) // what is not a number asks for all of them once
	return all * max(1, times)
}
