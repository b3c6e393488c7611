package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"clawsh/lib/command"
	"clawsh/lib/process"
)

// receiptShow hands over to claw-receipt, which sees no conversation: if content is asked for, claw-mem's is piped to it.
func receiptShow() command.Command {
	show := handOver("receipt show", "claw-receipt", "show", "ID", "show one receipt")
	plain := show.Run
	show.Run = func(ctx context.Context, c *command.Call) (command.Result, error) {
		if !slices.Contains(c.Raw, "--with-content") || slices.Contains(c.Raw, "--help") || slices.Contains(c.Raw, "-h") {
			return plain(ctx, c)
		}
		code, err := withContent(ctx, c)
		if err != nil {
			return nil, err
		}
		return command.Records(), command.Exit(code)
	}
	return show
}

// withContent is claw-mem export | claw-receipt show.
func withContent(ctx context.Context, c *command.Call) (code int, err error) {
	var export []string
	if file := flagValue(c.Raw, "--config"); file != "" {
		export = []string{"--config", file}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe: %w", err)
	}
	defer read.Close()
	env := process.Environment(c.Environ, handed(c, false)...)
	mem, err := startStage(ctx, process.Spec{Name: "claw-mem", Args: append([]string{"export"}, export...), Env: env, Stdout: write, Stderr: os.Stderr})
	write.Close()
	if err != nil {
		return 0, err
	}
	defer mem.Stop(time.Second)
	mem.Stdin.Close()
	receipt, err := startStage(ctx, process.Spec{Name: "claw-receipt", Args: append([]string{"--as=clawsh receipt show", "show"}, c.Raw...), Env: env, Stdin: read, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return 0, err
	}
	read.Close()
	return exitCode(receipt.Wait())
}

func startStage(ctx context.Context, s process.Spec) (*process.Stage, error) {
	var err error
	if s.Path, err = process.Find(s.Name); err != nil {
		return nil, fmt.Errorf("find %s: %w", s.Name, err)
	}
	st, err := process.Start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	return st, nil
}

// exitCode is how a stage ended, as a code to exit with.
func exitCode(err error) (int, error) {
	exit, ok := err.(interface{ ExitCode() int })
	switch {
	case err == nil:
		return 0, nil
	case ok && exit.ExitCode() > 0: // of one that a signal ended it is -1
		return exit.ExitCode(), nil
	}
	return 0, err
}
