//go:build unix

package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"clawsh/lib/place"
)

// container is the engine that a container program makes. Who may talk to such a program is as good as root, so it is
// never chosen by itself; and an image must be named by its digest, since a tag can become another image.
type container struct{}

func (container) name() string { return Container }

func (container) report() Report {
	return Report{Engine: Container, Guarantees: map[Guarantee]string{
		Network: "--network none", Secrets: "image", Temporary: "tmpfs", Processes: "process namespace",
		Files:       partly + "--read-only, mounts; a .git that is missing in the workspace can be made",
		Environment: "--env", Privileges: "--cap-drop, no-new-privileges", Calls: partly +
			"the container engine's own filter",
		Memory: "--memory", Tasks: "--pids-limit", CPU: "--cpus, rlimit", Descriptors: "rlimit"}}
}

// digest is an image that cannot become another one.
var digest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}$`) })

// Exit codes by which docker and podman say that they did not start the program.
const (
	containerFailed   = 125
	containerCannot   = 126
	containerNotFound = 127
)

// stopTime is how long the container engine is given to kill a container.
const stopTime = 10 * time.Second

func (container) run(ctx context.Context, place Place, limits Limits, p Program, s Streams) (Exit, error) {
	runtime := place.Runtime
	if runtime == "" {
		runtime = "docker"
	}
	path, err := findHelper(runtime)
	if err != nil {
		return Exit{}, setupError{err}
	}
	name := "clawsh-" + strings.ToLower(rand.Text())
	if place.Self != "" {
		p = interpreter(insidePath, StageShell, p)
	}
	args, err := containerArgs(name, place, limits, p, os.Getuid(), os.Getgid())
	if err != nil {
		return Exit{}, setupError{err}
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = containerEnv(), "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.Stdin, s.Stdout, s.Stderr, killGrace
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Exit{}, setupError{err}
	}
	killed := make(chan string, 1)
	stop := context.AfterFunc(ctx, func() {
		killed <- context.Cause(ctx).Error()
		// The program belongs to the engine's daemon: killing the client would leave it running.
		killing, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		kill := exec.CommandContext(killing, path, "kill", name)
		kill.Env = containerEnv()
		kill.Run()
		cmd.Process.Kill()
	})
	cmd.Wait()
	exit := Exit{Code: -1}
	if cmd.ProcessState != nil {
		exit.Code = cmd.ProcessState.ExitCode()
	}
	if !stop() {
		exit.Killed = <-killed
		return exit, nil
	}
	switch exit.Code {
	case containerFailed:
		return Exit{}, setupError{fmt.Errorf("%s could not start a container", runtime)}
	case containerCannot:
		return Exit{Code: -1}, syscall.EACCES
	case containerNotFound:
		return Exit{Code: -1}, syscall.ENOENT
	}
	return exit, nil
}

// containerEnv is what the container engine's command needs to find its daemon and its images.
func containerEnv() []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// containerArgs is the command line. Nothing of the host is shown but the workspace, its protected parts and the
// private home; programs are the image's.
func containerArgs(name string, where Place, limits Limits, p Program, uid, gid int) ([]string, error) {
	if !digest().MatchString(where.Image) {
		return nil, errors.New("no image is named by its digest (sandbox.image)")
	}
	v, err := view(where, limits)
	if err != nil {
		return nil, err
	}
	if where.Self != "" {
		limits.MemoryBytes, limits.OpenFiles = limits.MemoryBytes+interpreterOverhead,
			max(limits.OpenFiles, InterpreterFiles)
		limits.Processes += interpreterThreads
	}
	memory := strconv.FormatInt(limits.MemoryBytes, 10)
	args := []string{"run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name, "--network", "none",
		"--read-only", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", "--pids-limit", strconv.Itoa(limits.Processes), "--memory", memory,
		"--memory-swap", memory,
		"--cpus", strconv.Itoa(limits.CPUs), "--ulimit", "nofile=" + strconv.Itoa(limits.OpenFiles), "--ulimit",
		"cpu=" + strconv.Itoa(limits.CPUS),
		"--ulimit", "fsize=" + strconv.FormatInt(limits.FileBytes, 10), "--ulimit", "core=0", "--ipc", "private",
		"--hostname", "sandbox",
		"--user", strconv.Itoa(uid) + ":" + strconv.Itoa(gid), "--tmpfs", "/tmp:rw,nosuid,nodev,size=" +
			strconv.FormatInt(limits.TmpBytes, 10)}
	for _, m := range v {
		own := place.Within(where.Workspace, m.Target) ||
			slices.ContainsFunc(where.Roots, func(r string) bool { return place.Within(r, m.Target) }) ||
			where.Home != "" && m.Source == where.Home || where.Cache != "" && m.Source == where.Cache ||
			where.Self != "" && m.Target == insidePath
		if strings.ContainsAny(m.Source+m.Target, ",\n\"") {
			return nil,
				fmt.Errorf("%q: the container engine's command takes no path with a comma, a quote or a new line",
					m.Target)
		}
		switch {
		case !own:
		case m.Kind == mountDir:
			args = append(args, "--tmpfs", m.Target+":ro,size=4096")
		case m.Kind == mountNull:
			args = append(args, "--mount", "type=bind,source=/dev/null,target="+m.Target+",readonly")
		case m.Kind == mountRead:
			args = append(args, "--mount", "type=bind,source="+m.Source+",target="+m.Target+",readonly")
		case m.Kind == mountWrite:
			args = append(args, "--mount", "type=bind,source="+m.Source+",target="+m.Target)
		}
	}
	for _, e := range p.Env {
		args = append(args, "--env", e)
	}
	return append(append(args, "--workdir", p.Dir, "--entrypoint", p.Argv[0], where.Image), p.Argv[1:]...), nil
}
