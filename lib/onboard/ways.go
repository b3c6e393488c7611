package onboard

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"clawsh/lib/config"
)

// ways says in plain words which ways to work there are.
const ways = `How may the model work?
  strict  Reading files in the workspace needs no approval. clawsh asks before
          every command and every change; unlisted commands are denied.
  middle  (recommended) Listed commands that only read need no approval either.
          clawsh asks before everything else, so the model can build and test
          while you watch.
  full    clawsh asks only before the model writes files that other programs
          run, such as .envrc. Everything else runs unless a rule blocks it.
In all three, forbidden paths and commands stay blocked, commands run in the
sandbox, and clawsh estop stops everything.
`

func (i *Interview) takeWay(_ context.Context, answer string) error {
	names := []string{"strict", "middle", "full"}
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) {
		answer = names[n-1]
	}
	if answer = begun(answer, names); answer == "" {
		return again{"Want strict, middle or full.", ""}
	}
	i.Way = answer
	return nil
}

// begun is the one name that an answer is, or is the beginning of; empty if there is none, or more than one.
func begun(answer string, names []string) (found string) {
	for _, name := range names {
		if answer != "" && strings.HasPrefix(name, strings.ToLower(answer)) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// wheres say in plain words where the agent can work.
const wheres = `Where may the model work?
  here   (recommended) In the directory where you start clawsh, or the root of
         its repository. clawsh asks once for each directory.
  fixed  Always in the workspace directory set in the configuration.
`

func (i *Interview) takeWhere(_ context.Context, answer string) error {
	if answer = begun(answer, []string{"here", "fixed"}); answer == "" {
		return again{"Want here or fixed.", ""}
	}
	i.Where = answer
	return nil
}

// waySettings are the settings of a way to work.
func waySettings(way string) []config.Setting {
	set := func(autonomy, harmless, high string) []config.Setting {
		return []config.Setting{{Key: "security.autonomy", Value: autonomy},
			{Key: "security.harmless", Value: harmless}, {Key: "security.high", Value: high}}
	}
	switch way {
	case "strict":
		return set("supervised", "ask", "deny")
	case "middle":
		return set("supervised", "low", "ask")
	case "full":
		return []config.Setting{{Key: "security.autonomy", Value: "full"}}
	}
	return nil
}

// wayOf names the way that a configuration works, "" if it is none of the three.
func wayOf(s config.Security) string {
	switch {
	case s.Autonomy == "full":
		return "full"
	case s.Autonomy == "supervised" && s.Harmless == "ask" && s.High == "deny":
		return "strict"
	case s.Autonomy == "supervised" && s.Harmless == "low" && s.High == "ask":
		return "middle"
	}
	return ""
}

// change says how to work in another way.
func change(w io.Writer) {
	fmt.Fprintln(w,
		"To change this: clawsh onboard --way strict|middle|full, or set autonomy, harmless and high under [security] in the configuration.")
}
