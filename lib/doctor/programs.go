package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"clawsh/lib/command"
	"clawsh/lib/process"
)

var stagePrograms = []string{"claw-llm", "claw-gate", "claw-exec", "claw-receipt", "claw-mem", "claw-loop"}

// programs looks for all programs, of one build.
func (d *examination) programs(ctx context.Context) bool {
	all, own := true, command.ThisBuild("clawsh")
	for _, name := range stagePrograms {
		var build command.Build
		err := d.stages.Query(ctx, &build, name, "--version")
		switch {
		case err != nil:
			f := failure("programs", err)
			f.Hint = "install all seven programs into one directory: make install"
			all = d.tell(ctx, f) && all
		case !build.Same(own):
			all = d.tell(ctx, Finding{Check: "programs", State: wrong,
				Message: fmt.Sprintf("%s has version %s, but clawsh has %s", name, build, own),
				Hint:    "install all seven programs of one build into one directory: make install"}) && all
		}
	}
	if all {
		d.tell(ctx, Finding{Check: "programs", State: sound, Message: "all seven are there, version " + own.String()})
		d.onPath(ctx)
	}
	return all
}

// onPath looks for what a shell would start in place of the programs that clawsh starts. It starts none of them.
func (d *examination) onPath(ctx context.Context) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	var others, copies []string
	for _, name := range append([]string{"clawsh"}, stagePrograms...) {
		ours := self
		if name != "clawsh" {
			if ours, err = process.Find(name); err != nil {
				continue
			}
			if filepath.Dir(ours) != filepath.Dir(self) {
				copies = append(copies, fmt.Sprintf("%s is not beside clawsh; %s is used instead", name, ours))
				continue
			}
		}
		there, found := process.OnPath(name)
		if !found {
			continue
		}
		switch same, err := identical(there, ours); {
		case err != nil || !same:
			others = append(others, there)
		case !sameFile(there, ours):
			copies = append(copies, there+" is a copy")
		}
	}
	if len(others) > 0 {
		d.tell(ctx, Finding{Check: "programs", State: noted,
			Message: fmt.Sprintf("PATH finds other programs than those in %s: %s",
				filepath.Dir(self), strings.Join(others, ", ")),
			Hint: "pipelines that you type would use those; put " + filepath.Dir(self) +
				" first on PATH, or remove the others"})
	}
	if len(copies) > 0 {
		d.tell(ctx, Finding{Check: "programs", State: noted,
			Message: "the programs are in several directories: " + strings.Join(copies, ", "),
			Hint:    "keep all seven in one directory, so that an update reaches them all"})
	}
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// identical tells whether two files are one, or hold the same bytes.
func identical(a, b string) (bool, error) {
	if sameFile(a, b) {
		return true, nil
	}
	x, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer y.Close()
	here, there := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, errX := io.ReadFull(x, here)
		m, errY := io.ReadFull(y, there)
		if !bytes.Equal(here[:n], there[:m]) {
			return false, nil
		}
		if errX != nil || errY != nil {
			return ended(errX) && ended(errY), nil
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
