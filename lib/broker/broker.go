// Package broker starts what the confined part of claw-exec may not start itself: programs in the sandbox, and what
// reads the web and the memory.
//
// The confined part has the Client. The server, which keeps the rights, is a process of its own, started before the
// other confines itself (Start, Serve). They talk over a pair of sockets (Request, Reply). What may be run, where and
// within which limits the server knows from the configuration: a request can only ask for less. So an attacker who
// takes the confined part over gets no more than a permitted call could have had. In which process a tool runs follows
// from what its card says that it needs (card.Needs.Runs).
//
// A server lives as long as its client: when the connection ends, or something comes over it that no client sends,
// everything that still runs is killed. A client whose server has died says so to those who wait for a reply, and to
// all who ask later.
package broker

import (
	"log/slog"

	"clawsh/lib/config"
	"clawsh/lib/process"
	"clawsh/lib/secret"
)

// Names of the commands of claw-exec by which it starts itself as a server, and as the child that reads the web.
const (
	ServeCommand = "broker"
	FetchCommand = "fetch"
)

// Options are what each of our processes knows.
type Options struct {
	Config *config.Config
	// Environ is the environment of this process. What it starts gets of it what an allowlist names.
	Environ []string
	Log     *slog.Logger
	Secrets *secret.Redactor
}

// environ is the environment of another process of ours, which runs in another directory.
func (o Options) environ() []string {
	return append(process.Environment(o.Environ, config.PathEnv(o.Config, nil)...), o.Config.HomeEnv()...)
}
