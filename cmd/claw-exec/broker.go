package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"clawsh/lib/card"
	"clawsh/lib/command"
	"clawsh/lib/config"
	"clawsh/lib/place"
	"clawsh/lib/process"
	"clawsh/lib/sandbox"
	"clawsh/lib/tool"
)

// brokerFD is the broker's end of the connection.
const brokerFD = 3

// broker is the part of claw-exec that starts things: programs in the sandbox, and what reads the web and the memory. The
// filter confines itself, and with it all that it would start; so it starts this process before, and asks it. What may be
// run, where and within which limits the broker knows from the configuration, not from the filter.
func broker() command.Command {
	return command.Command{Name: "broker", Hidden: true, Access: command.Unconfined, Args: "HOMES", Min: 1, Max: 1, Summary: "start programs for claw-exec", OwnSignals: true,
		Run: func(ctx context.Context, c *command.Call) (command.Result, error) {
			cfg, err := c.Config()
			if err != nil {
				return nil, err
			}
			l, err := newLine(os.NewFile(brokerFD, "filter"))
			if err != nil {
				return nil, err
			}
			homes, err := tool.ShareHomes(c.Args[0])
			if errors.Is(err, fs.ErrNotExist) && l.ended() {
				return nil, nil // a short call: the filter has ended and removed the directory before this process came to it
			}
			if err != nil {
				return nil, err
			}
			b := &brokerState{call: c, config: cfg, line: l, running: map[int]context.CancelFunc{}}
			b.sandbox, b.sandboxErr = openSandbox(c, cfg)
			makeCache(cacheDir(cfg), cfg.Sandbox.CacheBytes)
			if err := process.Reap(); err != nil {
				return nil, err
			}
			defer homes.Remove() // the filter cannot, and may have been killed
			b.work.Go(func() { tool.SweepHomes(filepath.Dir(homes.Dir)) })
			return nil, b.serve(ctx)
		}}
}

type brokerState struct {
	call       *command.Call
	config     *config.Config
	line       *line
	sandbox    *sandbox.Sandbox
	sandboxErr error

	mu      sync.Mutex
	running map[int]context.CancelFunc
	work    sync.WaitGroup
}

// openSandbox makes the sandbox that the configuration wants.
func openSandbox(c *command.Call, cfg *config.Config) (*sandbox.Sandbox, error) {
	return sandbox.New(cfg.Security.Sandbox, sandboxPlace(c, cfg), sandboxLimits(cfg))
}

// serve answers until the filter has closed its end; then everything that still runs is ended.
func (b *brokerState) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer b.work.Wait()
	defer cancel()
	for {
		var a ask
		files, err := b.line.receive(&a)
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return nil // the filter is gone
		}
		if err != nil {
			return fmt.Errorf("read what to start: %w", err)
		}
		if a.Cancel {
			closeAll(files)
			b.mu.Lock()
			if stop := b.running[a.ID]; stop != nil {
				stop()
			}
			b.mu.Unlock()
			continue
		}
		one, stop := context.WithCancel(ctx)
		b.mu.Lock()
		b.running[a.ID] = stop
		b.mu.Unlock()
		b.work.Go(func() {
			reply := b.answer(one, a, files)
			closeAll(files)
			stop()
			b.mu.Lock()
			delete(b.running, a.ID)
			b.mu.Unlock()
			reply.ID = a.ID
			b.line.send(reply) // if that fails, the filter is gone
		})
	}
}

func (b *brokerState) answer(ctx context.Context, a ask, files []*os.File) answer {
	t, known := tool.Lookup(a.Tool)
	switch {
	case a.Script && len(files) == 3:
		return b.run(ctx, a, files)
	case known && t.Needs == card.Network:
		return b.fetch(ctx, a)
	case known && t.Needs == card.Memory:
		r := tool.Run(ctx, t, a.Args, &tool.Env{Config: b.config, SelfEnv: process.Environment(b.call.Environ, config.PathEnv(b.config, nil)...), Log: b.call.Log, Secrets: b.call.Secrets, ConversationID: a.ConversationID})
		return answer{Result: &r}
	}
	return answer{Error: "unknown request to the broker"}
}

// run has a script interpreted in the sandbox, by ourselves.
func (b *brokerState) run(ctx context.Context, a ask, files []*os.File) answer {
	if b.config.Security.Sandbox == sandbox.Off {
		return b.runBare(ctx, files)
	}
	if b.sandboxErr != nil {
		return answer{Error: b.sandboxErr.Error(), Refused: true}
	}
	a.Adapt.Self = true
	exit, report, err := b.sandbox.Run(ctx, a.Adapt, sandbox.Program{Dir: place.Real(b.config.WorkspaceDir)},
		sandbox.Streams{Stdin: files[0], Stdout: files[1], Stderr: files[2]})
	var none *sandbox.Unavailable
	var no syscall.Errno
	switch {
	case errors.As(err, &none):
		return answer{Error: err.Error() + "; " + none.Hint(), Refused: true}
	case errors.As(err, &no):
		return answer{Error: err.Error(), Errno: int(no), Report: &report}
	case err != nil:
		return answer{Error: err.Error(), Report: &report}
	}
	return answer{Exit: exit, Report: &report}
}

// runBare has a script interpreted without a sandbox, which the configuration has asked for in so many words.
func (b *brokerState) runBare(ctx context.Context, files []*os.File) answer {
	report := sandbox.Report{Engine: sandbox.Off, Guarantees: map[sandbox.Guarantee]string{}, Missing: sandbox.All}
	p := sandbox.Interpreter(process.Self(), place.Real(b.config.WorkspaceDir))
	code, err := process.RunTree(ctx, process.TreeSpec{Argv: p.Argv, Dir: p.Dir, Env: p.Env,
		Stdin: files[0], Stdout: files[1], Stderr: files[2]})
	b.sweep()
	var no syscall.Errno
	if errors.As(err, &no) {
		return answer{Error: err.Error(), Errno: int(no), Report: &report}
	}
	if err != nil {
		return answer{Error: err.Error(), Report: &report}
	}
	return answer{Exit: sandbox.Exit{Code: code}, Report: &report}
}

// sweep ends what a program without a sandbox has left behind, once nothing else runs.
func (b *brokerState) sweep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.running) == 1 {
		process.KillDescendants(os.Getpid())
	}
}

// homeSeen is where programs see the home directory of their call: always the same place, where the engine can show it there.
func homeSeen(cfg *config.Config) string {
	switch cfg.Security.Sandbox {
	case "auto", sandbox.Native, sandbox.Bubblewrap:
		return "/run/home"
	}
	return ""
}

func sandboxLimits(cfg *config.Config) sandbox.Limits {
	s := cfg.Sandbox
	return sandbox.Limits{MemoryBytes: s.MemoryBytes, Processes: s.Processes, OpenFiles: s.OpenFiles, CPUs: s.CPUs, CPUS: s.CPUSeconds,
		FileBytes: s.FileBytes, TmpBytes: s.TmpBytes}
}

// sandboxPlace is what programs see: the workspace, what the configuration lets them read, and the directories of PATH that
// lie elsewhere. Secrets are covered wherever they lie.
func sandboxPlace(c *command.Call, cfg *config.Config) sandbox.Place {
	home := c.Getenv("HOME")
	hidden := append([]string{cfg.Home, cfg.File, cfg.Memory.Path, cfg.Receipts.Path}, cfg.Security.ForbiddenPaths...)
	if home != "" {
		hidden = append(hidden, config.SecretPaths(home)...)
	}
	refuse := realAll([]string{home, cfg.Home})
	// A directory of PATH that holds more than programs is not shown.
	programs := slices.DeleteFunc(tool.ProgramDirs(c.Getenv("PATH"), place.Real(cfg.WorkspaceDir), cfg.Home), func(dir string) bool {
		return slices.ContainsFunc(refuse, func(r string) bool { return place.Within(dir, r) })
	})
	return sandbox.Place{HomeSeen: homeSeen(cfg), Cache: cacheDir(cfg), CacheSeen: cacheSeen(cfg), Workspace: place.Real(cfg.WorkspaceDir), ID: cfg.Workspace.ID, Layout: cfg.Sandbox.Layout, GitWrite: cfg.Sandbox.GitWrite,
		Read: append(realAll(cfg.Sandbox.Read), programs...), Roots: cfg.Readable(), Hidden: realAll(hidden),
		Refuse: refuse, Image: cfg.Sandbox.Image, Runtime: cfg.Sandbox.ContainerEngine}
}
