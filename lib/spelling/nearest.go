// Package spelling finds the name of a command or key that was probably meant, for "did you mean", and forms plurals.
package spelling

import "strings"

// Nearest returns the known word that word most likely misspells, by at most that many letters, or "". It also
// compares with the first word of a known phrase.
func Nearest(word string, known []string, letters int) string {
	best, bestAt := "", letters+1
	for _, k := range known {
		first, _, _ := strings.Cut(k, " ")
		for _, candidate := range []string{k, first} {
			if d := distance(word, candidate); d < bestAt && d < len(candidate) {
				best, bestAt = candidate, d
			}
		}
	}
	return best
}

// Longer returns the shortest known word that contains all letters of word in order, if they are at least half of it:
// a name with a part left out. Otherwise it returns "".
func Longer(word string, known []string) string {
	best := ""
	for _, k := range known {
		if len(k) <= 2*len(word) && (best == "" || len(k) < len(best)) && holds(k, word) {
			best = k
		}
	}
	return best
}

// holds reports whether a word contains the letters of a part in order.
func holds(word, part string) bool {
	for i := range len(word) {
		if part != "" && word[i] == part[0] {
			part = part[1:]
		}
	}
	return part == ""
}

// distance is the Levenshtein distance, for short words.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
