package main

import (
	"github.com/spf13/pflag"

	"clawsh/lib/memory"
)

// placeFlags say where a conversation is held. Who is asked for the latest one with them gives the latest of that
// place.
func placeFlags(f *pflag.FlagSet, p *memory.Place) {
	f.StringVar(&p.Directory, "directory", "",
		"the conversation's workspace is `DIR`; without an id: the latest conversation there")
	f.StringVar(&p.Terminal, "terminal", "",
		"the conversation's terminal is `SESSION`; without an id: the latest conversation there")
}

// latestOf is the latest conversation of a place, if one is named.
func latestOf(s *memory.Store, agent string, p memory.Place) (string, error) {
	if p.Directory == "" && p.Terminal == "" {
		return s.Latest(agent)
	}
	return s.LatestAt(agent, p)
}
