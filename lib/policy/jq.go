package policy

import (
	"slices"
	"strings"
	"unicode"
)

// jqWords are names with which a filter reaches out of its input.
var jqWords = []string{"env", "import", "include", "input_filename", "get_search_list", "modulemeta", "debug", "stderr",
	"halt", "halt_error", "input_line_number", "getpath_file", "$ENV", "$__prog_args"}

// jqFilter says what in a jq filter reaches out of its input. Texts are looked at like the rest: expressions can stand
// in them.
func jqFilter(src string) string {
	for at := 0; at < len(src); {
		c := rune(src[at])
		if !(c == '_' || c == '$' || unicode.IsLetter(c)) {
			at++
			continue
		}
		end := at + 1
		for end < len(src) && (src[end] == '_' || unicode.IsLetter(rune(src[end])) || unicode.IsDigit(rune(src[end]))) {
			end++
		}
		word := src[at:end]
		field := at > 0 && src[at-1] == '.' && word[0] != '$'
		quoted := at > 0 && src[at-1] == '"' && end < len(src) && src[end] == '"'
		if slices.Contains(jqWords, word) && !field && !quoted && !jqKey(src[:at], src[end:], word) {
			return word + " reads something other than the input"
		}
		at = end
	}
	return ""
}

// jqKey tells whether a word is a key that a bracket begins with: {env} stands for {env: .env}, not for the
// environment.
func jqKey(before, after, word string) bool {
	before, after = strings.TrimRight(before, " \t\n"), strings.TrimLeft(after, " \t\n")
	return word[0] != '$' && strings.HasSuffix(before, "{") && after != "" && strings.IndexByte("},:", after[0]) >= 0
}
