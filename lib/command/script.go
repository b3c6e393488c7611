package command

import (
	"bytes"
	"fmt"
	"strings"

	"clawsh/lib/envelope"
	"clawsh/lib/terminal"
)

// script is the completion script of a shell. The flag library's scripts hand what was typed to eval, so that TAB would
// run what stands in it, such as $(…); these pass words on as they are.
func (p *program) script(shell string) (string, error) {
	var b bytes.Buffer
	var err error
	switch shell {
	case "bash":
		err = p.root.GenBashCompletionV2(&b, true)
	case "zsh":
		err = p.root.GenZshCompletion(&b)
	case "fish":
		err = p.root.GenFishCompletion(&b, true)
	case "powershell":
		err = p.root.GenPowerShellCompletionWithDesc(&b)
	default:
		return "", envelope.Errorf(envelope.ExitUsage, "usage", "completion for %q: want bash, zsh, fish or powershell",
			terminal.Escape(shell))
	}
	if err != nil {
		return "", err
	}
	text := b.String()
	for _, e := range evals(shell) {
		if strings.Count(text, e[0]) != 1 {
			return "", fmt.Errorf("the completion script for %s is not as expected: it does not contain exactly one %q",
				shell, e[0])
		}
		text = strings.Replace(text, e[0], e[1], 1)
	}
	return text, nil
}

// evals are the places of a script that would run what was typed, with what takes their place.
func evals(shell string) [][2]string {
	switch shell {
	case "bash":
		return [][2]string{
			{`# Use eval to handle any environment variables and such
    out=$(eval "${requestComp}" 2>/dev/null)`, `out=$("${words[0]/#\~\//$HOME/}" __complete "${args[@]}" 2>/dev/null)`},
		}
	case "zsh":
		return [][2]string{
			{`words=("${=words[1,CURRENT]}")`, `words=("${(@)words[1,CURRENT]}")`},
			{`# Use eval to handle any environment variables and such
    out=$(eval ${requestComp} 2>/dev/null)`, `out=$("${(Q)words[1]/#\~\//$HOME/}" __complete "${(@Q)words[2,-1]}" 2>/dev/null)`},
			{`noSpace="-S ''"`, `noSpace=(-S '')`},
			{`flagPrefix requestComp out directive comp lastComp noSpace keepOrder
    local -a completions`, `requestComp out directive comp lastComp keepOrder
    local -a completions noSpace flagPrefix`},
			{`flagPrefix="-P ${BASH_REMATCH}"`, `flagPrefix=(-P "${BASH_REMATCH}")`},
			{`if eval _describe $keepOrder "completions" completions $flagPrefix $noSpace; then`,
				`if _describe $keepOrder "completions" completions "${flagPrefix[@]}" "${noSpace[@]}"; then`},
		}
	case "fish":
		return [][2]string{
			{`set -l lastArg (string escape -- (commandline -ct))`, `set -l lastArg (commandline -ct)`},
			{` $args[1] __complete $args[2..-1] $lastArg"`, ` $args[1] __complete $args[2..-1] $lastArg"
    set -l program (string replace -r '^~/' "$HOME/" -- $args[1])`},
			{`set -l results (eval $requestComp 2> /dev/null)`,
				`set -l results ($program __complete $args[2..-1] "$lastArg" 2> /dev/null)`},
		}
	}
	return nil
}
