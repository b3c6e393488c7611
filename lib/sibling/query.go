package sibling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"clawsh/lib/envelope"
	"clawsh/lib/process"
	"clawsh/lib/record"
)

// maxAnswer is how much a sibling may answer: what fits on a line of the wire.
const maxAnswer = record.MaxLineBytes

// Query runs a sibling's command, without input, and decodes the data of its envelope into v. A failure that the
// command reports is returned as an *envelope.Error; if it has details, these are decoded into v.
func (p *Programs) Query(ctx context.Context, v any, name string, args ...string) error {
	end := slices.Index(args, "--") // what follows are arguments, however they begin
	if end < 0 {
		end = len(args)
	}
	spec, err := p.Spec(name, slices.Insert(slices.Clone(args), end, "--output-format", "json")...)
	if err != nil {
		return err
	}
	out, stage, err := answer(ctx, spec)
	if err != nil {
		return err
	}
	if len(out) == 0 && stage.Ending() != process.Succeeded {
		return errors.New(stage.Describe() + ", before it answered") // its exit code is not ours
	}
	reply, err := envelope.Decode(out)
	switch {
	case err != nil:
		return fmt.Errorf("%s: unusable answer: %w", stage.Describe(), err)
	case reply.Failed != nil && len(reply.Details) > 0:
		_ = record.DecodeOpen(reply.Details, v) // they are not always what the caller asked for
		return reply.Failed
	case reply.Failed != nil:
		return reply.Failed
	}
	return record.DecodeOpen(reply.Data, v)
}

// Complete is what a sibling offers to a shell that completes the words after its name. It gets no provider key for
// that.
func (p *Programs) Complete(ctx context.Context, name string, words ...string) (string, error) {
	spec, err := p.spec(name, false, append([]string{"__complete"}, words...))
	if err != nil {
		return "", err
	}
	out, stage, err := answer(ctx, spec)
	if err == nil && stage.Ending() != process.Succeeded {
		err = errors.New(stage.Describe())
	}
	return string(out), err
}

// Show runs a sibling's command, without input, on our own standard output, and returns its exit code: a failure it has
// told itself.
func (p *Programs) Show(ctx context.Context, name string, args ...string) (code int, err error) {
	spec, err := p.Spec(name, args...)
	if err != nil {
		return 0, err
	}
	spec.Stdout = os.Stdout
	stage, err := start(ctx, spec)
	if err != nil {
		return 0, err
	}
	return Wait(ctx, stage)
}

// Wait waits until a stage has ended, and returns its exit code. The error says that ctx, or a signal, has ended it.
func Wait(ctx context.Context, stage *process.Stage) (code int, err error) {
	<-stage.Exited()
	switch sig := stage.Terminated(); {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case sig != 0: // as when Ctrl-C reaches a program before it can take it
		return 0, envelope.Cancelled(sig)
	case stage.Ending() == process.Signalled:
		return 0, errors.New(stage.Describe())
	}
	return stage.ExitCode(), nil
}

// start starts a sibling that gets no input.
func start(ctx context.Context, spec process.Spec) (*process.Stage, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	spec.Stdin = null
	return process.Start(ctx, spec)
}

// answer runs a sibling without input, and returns all that it writes.
func answer(ctx context.Context, spec process.Spec) ([]byte, *process.Stage, error) {
	stage, err := start(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	out, err := io.ReadAll(io.LimitReader(stage.Stdout, maxAnswer+1))
	stage.Stdout.Close()
	if len(out) > maxAnswer {
		stage.Signal(os.Kill)
	}
	<-stage.Exited()
	switch sig := stage.Terminated(); {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, fmt.Errorf("read the answer of %s: %w", spec.Name, err)
	case len(out) > maxAnswer:
		return nil, nil, fmt.Errorf("%s answered more than %d bytes", spec.Name, maxAnswer)
	case sig != 0:
		return nil, nil, envelope.Cancelled(sig)
	}
	return out, stage, nil
}
